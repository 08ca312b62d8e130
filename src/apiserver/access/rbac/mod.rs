//! Authorization by roles and bindings (`rbac.authorization.k8s.io`).
//!
//! Bindings and the rules of their roles are cached until one changes. No controller aggregates ClusterRoles.

mod act;
mod authorize;
mod bootstrap;
mod check;
mod rule;

pub(crate) use act::Act;
pub(crate) use authorize::{Decision, authorize, forbidden, missing, rules};
pub(crate) use bootstrap::objects as bootstrap_objects;
pub(crate) use check::{check, set_defaults, set_rules};
pub use rule::Rule;
pub(crate) use rule::has;

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
