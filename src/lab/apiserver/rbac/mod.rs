//! Who may do what, as roles and bindings say (`rbac.authorization.k8s.io`).
//!
//! Nothing is kept besides the objects themselves: each request of somebody who is no master looks up the bindings that
//! name the asker. There is no controller that fills in the rules of aggregated ClusterRoles.

mod authorize;
mod bootstrap;
mod check;
mod escalation;
mod rule;

pub(super) use authorize::{Act, Decision, Grants, authorize, forbidden};
pub(super) use check::{check, set_defaults, set_rules};
pub(super) use rule::Rule;

/// The group of roles and bindings.
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";
