//! A fault of the scheduler.

use evidence::api::{Edition, UnknownName};

use super::registry::faults;
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

impl Fault {
    /// The scheduler's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
    }
}
