//! The lab's side of the driver interface: drives both reference implementations as one, and offers stand-in members to any
//! manager.

mod both;
mod stand_ins;
mod within;

pub use both::BothHooks;
pub use stand_ins::{Member, StandIns};
pub(crate) use within::within;
