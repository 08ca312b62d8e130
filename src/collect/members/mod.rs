//! Queries the members' API servers: their state, whether endpoints answer, and whether consumers' credentials work.
//!
//! Members are asked in parallel, each within a budget; a member that fails leaves a gap of its own. Only gets, lists and
//! self reviews are sent. What a member says when it refuses is not kept: it may repeat the credential.

mod ask;
mod credentials;
pub(super) mod endpoints;
mod look;
mod plan;
mod poll;

pub use plan::{Dial, MemberWay, Members, MembersError, Network, members_schema, read_members};
pub(super) use poll::{MemberPoll, Sources};
pub use poll::{Reached, reach_members};
