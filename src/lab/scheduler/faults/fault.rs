//! A fault of the scheduler.

use evidence::api::Edition;

use crate::{fault, scheduler::world::World};

/// The description of a fault of the scheduler.
pub type FaultInfo = fault::FaultInfo<fn(&mut World)>;

/// A fault of the scheduler.
pub type Fault = fault::Fault<fn(&mut World)>;

impl FaultInfo {
    pub(super) const fn new(id: &'static str, what: &'static str, edit: fn(&mut World)) -> Self {
        Self::first_in(Edition::Placement2025M09, id, what, edit)
    }
}
