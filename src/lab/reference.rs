//! Which implementation of the lab plays a role.

use evidence::api::Role;

use crate::{consumer::Consumer, manager::Manager, scheduler::Scheduler};

/// A reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its user on the hub, and its field manager.
    pub name: &'static str,
    /// The namespace of what it does when it is driven.
    pub namespace: &'static str,
}

/// The reference implementation of a role.
pub fn reference(role: Role) -> Reference {
    match role {
        Role::Manager => Reference {
            name: Manager::NAME,
            namespace: Manager::NAMESPACE,
        },
        Role::Scheduler => Reference {
            name: Scheduler::NAME,
            namespace: Scheduler::NAMESPACE,
        },
        Role::Consumer => Reference {
            name: Consumer::NAME,
            namespace: Consumer::NAMESPACE,
        },
    }
}
