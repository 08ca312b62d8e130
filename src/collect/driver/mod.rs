//! Drives the implementation through scenarios: a member joins, breaks, heals, is upgraded, leaves; a scheduler is asked
//! for clusters, for others, and for none.
//!
//! The implementation acts because of hooks: commands of a driver file, or the reference manager's own functions. The
//! watch shows the effects. The run writes to the hub only if that is allowed, and only to profiles of members that it
//! has joined itself, to slices of placements that it has requested, and to objects that it has created. It undoes all
//! that it does, whichever way it ends.

mod clean;
mod consumer_file;
mod file;
mod hooks;
mod journal;
mod member;
mod placement;
mod plan;
mod scenario;
mod session;
mod writes;

pub use clean::{CleanError, Cleaned, clean};
pub use consumer_file::ConsumerFile;
pub use file::{DriverFile, DriverFileError};
pub use hooks::{Call, Called, Commands, Hooks, Member, MemberKubeconfig, Offer, OfferError, Offered};
pub(super) use journal::UndoEntry;
pub use journal::{Head, Journal, replace_private_file};
pub use plan::{DriverPlan, Fleet, OwnMember, Patience, Scale, new_run_id};
pub(super) use scenario::drive;
pub(super) use session::RunContext;
pub(crate) use writes::Touched;
pub(super) use writes::{FIELD_MANAGER, Writes, list_labelled};
