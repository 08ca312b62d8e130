//! Collects evidence from a hub. Whatever is slow or fails ends as plain data, or as a gap with its reason.
//!
//! It gets, lists and watches, asks what it may do, and sends dry runs. It stores nothing on the hub, unless a plan lets
//! it tamper with profiles of members that it joined itself ([`driver`]). From members it only reads, and sends self
//! reviews. It runs credential plugins only if the plan names them ([`plugins`]).
//!
//! The folders, each of which knows only those above it:
//!
//! - [`clock`] and `subprocess`: time, and programs that are run within limits;
//! - [`connect`]: kubeconfigs, credentials, and requests that are sent again;
//! - `watch`: lists and watches, and the histories that they bring;
//! - [`requests`]: the hub's audit log;
//! - [`plugins`]: credential plugins of access providers;
//! - `hub`: what a hub serves and allows, its Namespaces and Secrets, and the roles that this takes;
//! - `progress`: what a run reports while it watches;
//! - `members`: asks members themselves;
//! - [`driver`]: makes the implementation act;
//! - [`testbed`]: plays a cluster manager for a consumer, and sees whom it calls;
//! - `run`: [`collect()`], the road from a plan to evidence, and the survey before it.

pub mod clock;
pub mod connect;
pub mod driver;
mod hub;
mod members;
pub mod plugins;
mod progress;
pub mod requests;
mod run;
mod subprocess;
pub mod testbed;
mod watch;

pub use hub::{
    EvidenceRequest,
    error::CollectError,
    listed::new_digester,
    rbac::{Grants, ServiceAccount, ServiceAccountError, member_manifest},
};
pub use members::{
    Dial, MemberAccess, Members, MembersError, Network, members_schema, reach_members, read_members,
};
pub use progress::{Progress, Quiet};
pub use run::{
    collect,
    plan::Plan,
    survey::{ListSummary, Survey, survey},
};
#[cfg(fuzzing)]
pub use watch::fuzzing;

/// Random bytes of the system, without which there is no TLS either.
fn random_bytes<const COUNT: usize>() -> [u8; COUNT] {
    use ring::rand::{SecureRandom as _, SystemRandom};
    let mut bytes = [0; COUNT];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the random source works");
    bytes
}
