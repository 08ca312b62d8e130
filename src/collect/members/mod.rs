//! Queries the members' API servers: their state, whether endpoints answer, and whether consumers' credentials work.
//!
//! Members are asked side by side, each within a budget; one that fails is missed alone. Only gets, lists and questions
//! about oneself are sent. What a member says when it refuses is not kept: it may repeat the credential.

mod ask;
mod clean;
pub(super) mod endpoints;
mod error;
mod file;
mod issued;
mod kubeconfig;
mod login;
mod look;
mod plan;
mod reach;
mod seen;
mod tried;
mod watch;

pub use error::{EntryFlaw, MembersError, MembersFlaw};
pub use file::{members_schema, read_members};
pub use plan::{Dial, MemberWay, Members, Network};
pub use reach::{Reached, reach_members};
pub(super) use watch::{Asking, Sources};
