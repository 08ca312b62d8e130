//! The roles that this monitor needs, for whoever has not granted them.

use collect::{CollectError, Grants, Plan};
use evidence::api::Role;

/// The roles of a monitor.
pub struct Roles {
    grants: Grants,
    command: String,
}

impl Roles {
    /// The roles for what the plan asks for.
    pub fn of(plan: &Plan) -> Self {
        let placements = plan.claim.edition_of(Role::Scheduler).is_some();
        let mut command = "clusterprofile-conformance rbac --monitor".to_owned();
        if placements {
            command += &format!(" --role {}", Role::names(plan.claim.roles()));
        }
        for namespace in &plan.scope.namespaces {
            command += &format!(" --namespace {namespace}");
        }
        Self {
            grants: Grants {
                namespaces: plan.scope.namespaces.clone(),
                placements,
                monitor: true,
                ..Grants::default()
            },
            command,
        }
    }

    /// The command that prints them.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The error with these roles in place of those of a run.
    pub fn explain(&self, mut error: CollectError) -> CollectError {
        if let CollectError::Forbidden { manifest, .. } | CollectError::PlacementsForbidden { manifest, .. } =
            &mut error
        {
            *manifest = self.grants.manifest();
        }
        error
    }
}
