//! The lab's side of the driver interface: drives the reference manager, and offers stand-in members to any manager.

mod reference;
mod stand_ins;

pub use reference::ReferenceHooks;
pub use stand_ins::{Member, StandIns};
