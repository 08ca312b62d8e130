//! A fault of the manager.

use evidence::api::{Edition, UnknownName};

use super::registry::faults;
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

impl Fault {
    /// The manager's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
    }
}
