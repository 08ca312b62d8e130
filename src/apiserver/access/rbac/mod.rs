//! Who may do what, as roles and bindings say (`rbac.authorization.k8s.io`).
//!
//! Bindings are read with the rules of their roles when somebody who is no master asks, and kept so until one changes.
//! There is no controller that fills in the rules of aggregated ClusterRoles.

mod act;
mod authorize;
mod bootstrap;
mod check;
mod escalation;
mod rule;

pub(crate) use act::Act;
pub(crate) use authorize::{Decision, authorize, forbidden, missing, rules};
pub(crate) use bootstrap::objects as bootstrap_objects;
pub(crate) use check::{check, set_defaults, set_rules};
pub(crate) use escalation::check as check_escalation;
pub use rule::Rule;
pub(crate) use rule::has;

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
