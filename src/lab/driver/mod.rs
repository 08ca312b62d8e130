//! Driving the lab's own implementation, and offering stand-ins to any: the lab's side of a driver's interface.

mod reference;
mod stand_ins;

pub use reference::ReferenceHooks;
pub use stand_ins::{Member, StandIns};
