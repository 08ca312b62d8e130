//! Collects evidence from a hub. Whatever is slow or fails ends as plain data, or as a gap with its reason.
//!
//! It gets, lists and watches, asks what it may do, and sends dry runs. It stores nothing on the hub, unless a plan lets
//! it tamper with profiles of members that it joined itself ([`driver`]). From members it only reads, and sends self
//! reviews. It runs credential plugins only if the plan names them ([`plugins`]).

mod after_window;
mod backoff;
mod call;
pub mod clock;
pub mod connect;
mod consumers;
mod digester;
pub mod driver;
mod error;
mod exec_credential;
#[cfg(fuzzing)]
pub mod fuzzing;
mod header;
mod hidden;
mod lines;
mod list;
mod members;
pub mod missing;
mod namespaces;
pub mod ongoing;
mod patience;
mod permissions;
mod plan;
pub mod plugins;
mod policies;
mod private_file;
mod probe;
mod rbac;
mod record;
pub mod requests;
mod restored;
mod room;
mod run;
mod scope_check;
mod secrets;
mod settle;
mod share;
mod skew;
mod slices;
mod snapshot;
mod splitter;
mod subprocess;
mod survey;
mod target;
mod timeline;
mod toll;
mod words;
mod workloads;

pub use digester::new_digester;
pub use error::CollectError;
pub use members::{
    Dial, EntryFlaw, MemberWay, Members, MembersError, MembersFlaw, Network, Reached, members_schema,
    reach_members, read_members,
};
pub use plan::{Plan, Progress, Quiet, Wish, Workloads};
pub use rbac::{Grants, ServiceAccount, ServiceAccountError, member_manifest, member_manifest_bound_to};
pub use run::collect;
pub use snapshot::Snapshot;
pub use survey::{Inventory, Survey, survey};
pub use toll::Meter;
pub use words::MalformedFile;
