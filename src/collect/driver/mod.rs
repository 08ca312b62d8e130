//! Drives the implementation through scenarios: a member joins, breaks, heals, is upgraded, leaves; a scheduler is asked
//! for clusters, for others, and for none.
//!
//! The implementation acts by way of hooks: commands of a driver file, or the reference manager's own functions. What
//! comes of it is seen by the watch that is going on anyway. The run writes to the hub only where that is allowed, and
//! only to profiles of members that it has joined itself, and to slices of placements that it has asked for. Whatever it does it undoes, whichever way it ends.

mod answers;
mod capabilities;
mod clean;
mod command;
mod drive;
mod file;
mod hooks;
mod journal;
mod member_pool;
mod named;
mod plan;
pub(super) mod private_file;
mod recognise;
mod run_context;
mod scenario;
mod scenario_member;
mod scenario_placement;
mod secrets;
mod session;
mod writes;

pub use clean::{CleanError, Cleaned, clean};
pub use command::Commands;
pub(super) use drive::drive;
pub use file::{ConsumerFile, DriverFile, DriverFileError, DriverFileFlaw, Hook, HookFlaw, Members};
pub use hooks::{Call, Called, Hooks, Member, Offer, OfferError, Offered, Way};
pub(super) use journal::UndoEntry;
pub use journal::{Head, Journal};
pub use plan::{AT_ONCE, DriverPlan, Fleet, MEMBERS, OwnMember, PATIENCE, Patience, Scale, new_run_id};
pub use private_file::replace as replace_private_file;
pub(super) use run_context::RunContext;
pub(crate) use writes::Touched;
pub(super) use writes::{OURSELVES, Writes};
