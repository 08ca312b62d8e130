//! A fault of the manager.

use evidence::api::Edition;

use crate::{fault, manager::world::World};

/// The description of a fault of the manager.
pub type FaultInfo = fault::FaultInfo<fn(&mut World)>;

/// A fault of the manager.
pub type Fault = fault::Fault<fn(&mut World)>;

impl FaultInfo {
    pub(super) const fn new(id: &'static str, what: &'static str, edit: fn(&mut World)) -> Self {
        Self::first_in(Edition::Standard, id, what, edit)
    }
}
