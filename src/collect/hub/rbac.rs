//! The minimal RBAC roles of a run, as manifests to apply.

mod manifest;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use evidence::{
    api::{ObjectKind, Role, names},
    labels::SUITE,
};
pub use manifest::{ServiceAccount, ServiceAccountError};

use self::manifest::RbacRole;
use crate::testbed::OutputPlace;

/// The evidence that a role gives access to, beside the profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The namespaces of the profiles; empty: all of them.
    pub namespaces: Vec<String>,
    /// Read placement decisions.
    pub placements: bool,
    /// Read the consumers' Secrets. RBAC knows no labels, so this grants access to all Secrets.
    pub secrets: bool,
    /// Send dry-run writes. RBAC cannot distinguish them from real writes.
    pub probe: bool,
    /// The roles to whose objects a driver may write: to those that the run has brought about. RBAC cannot distinguish
    /// these from other objects.
    pub mutations: Vec<Role>,
    /// Create and delete a namespace of the run's own, which needs a role for the cluster.
    pub own_namespace: bool,
    /// Where a consumer makes something of profiles, which a run reads.
    pub outputs: Vec<OutputPlace>,
}

/// How the names of the roles for what a consumer makes begin, and of their bindings.
const OUTPUTS: &str = "clusterprofile-conformance-outputs";
/// How the names of the role on a member begin, and of its binding.
const MEMBER: &str = "clusterprofile-conformance-member";

impl Grants {
    /// Writes the roles in YAML: one for each namespace, or one for the cluster. A comment shows how to bind them.
    pub fn manifest(&self) -> String {
        let roles = self.roles();
        let unbound = roles
            .iter()
            .map(|role| role.unbound("Bind it to the user that runs the suite"));
        unbound.collect()
    }

    /// Writes the roles, their bindings and the account that they are bound to.
    pub fn manifest_bound_to(&self, account: &ServiceAccount) -> String {
        account.bound(&self.roles())
    }

    fn roles(&self) -> Vec<RbacRole<'_>> {
        let outputs = self.outputs.iter().filter_map(output_role);
        if self.namespaces.is_empty() {
            return std::iter::once(self.role(None)).chain(outputs).collect();
        }
        let namespaces = self.namespaces.iter();
        let roles = namespaces.map(|namespace| self.role(Some(namespace)));
        roles.chain(outputs).collect()
    }

    fn role<'a>(&self, namespace: Option<&'a str>) -> RbacRole<'a> {
        let mut rules = String::new();
        let mut line = |text: &str| writeln!(rules, "{text}").expect("a string takes all that is written");
        let mut rule =
            |comment: Option<&str>, group: &str, resource: &str, name: Option<&str>, verbs: &str| {
                if let Some(comment) = comment {
                    line(&format!("# {comment}"));
                }
                line(&format!("- apiGroups: [{group:?}]"));
                line(&format!("  resources: [{resource}]"));
                if let Some(name) = name {
                    line(&format!("  resourceNames: [{name}]"));
                }
                line(&format!("  verbs: [{verbs}]"));
            };
        rule(None, names::GROUP, names::PLURAL, None, "list, watch");
        if self.placements {
            rule(None, names::GROUP, names::PLACEMENT_PLURAL, None, "list, watch");
        }
        match namespace {
            Some(_) => rule(None, "", "namespaces", None, "get"),
            None => {
                rule(None, "", "namespaces", None, "list");
                let definition = |plural: &str| format!("{plural}.{}", names::GROUP);
                let mut crd = definition(names::PLURAL);
                if self.placements {
                    crd += &format!(", {}", definition(names::PLACEMENT_PLURAL));
                }
                let resource = "customresourcedefinitions";
                rule(None, "apiextensions.k8s.io", resource, Some(&crd), "get");
            }
        }
        if self.secrets {
            let comment = format!(
                "For the consumers' Secrets (label {}): RBAC cannot select by label.",
                names::LABEL_SECRET_PROFILE
            );
            rule(Some(&comment), "", "secrets", None, "list");
        }
        if self.probe {
            let comment =
                "For dry runs, which change nothing: RBAC cannot distinguish them from real writes.";
            rule(
                Some(comment),
                names::GROUP,
                names::PLURAL,
                None,
                "get, update, patch",
            );
        }
        if self.own_namespace && namespace.is_none() {
            let comment = "For the run's own namespace: RBAC cannot distinguish it from others.";
            rule(Some(comment), "", "namespaces", None, "get, create, delete");
        }
        for role in &self.mutations {
            let plural = role.objects().plural();
            let comment = match role.objects() {
                ObjectKind::ClusterProfile => {
                    "For a driver that may write: only to profiles that the run has joined or created."
                }
                ObjectKind::PlacementDecision => {
                    "For a driver that may write: only to slices that the run has asked for or created."
                }
            };
            rule(
                Some(comment),
                names::GROUP,
                plural,
                None,
                "get, create, patch, delete",
            );
            if role.objects() == ObjectKind::ClusterProfile {
                let status = format!("{plural}/status");
                rule(None, names::GROUP, &status, None, "patch");
            }
            if *role == Role::Consumer {
                let comment = "For what a consumer says of the run's profiles, and gives away.";
                rule(Some(comment), "", "configmaps, events", None, "list");
            }
        }
        RbacRole {
            of: SUITE,
            namespace,
            rules,
        }
    }
}

/// The role for reading what a consumer makes, if that is on the hub.
fn output_role(place: &OutputPlace) -> Option<RbacRole<'_>> {
    let (namespace, rules) = match place {
        OutputPlace::Argocd { namespace } => (
            Some(&**namespace),
            "- apiGroups: [\"\"]\n  resources: [secrets]\n  verbs: [list]\n",
        ),
        OutputPlace::Multikueue {} => (
            None,
            "- apiGroups: [kueue.x-k8s.io]\n  resources: [multikueueclusters]\n  verbs: [list]\n",
        ),
        OutputPlace::Kubeconfig { .. } | OutputPlace::Http { .. } => return None,
    };
    Some(RbacRole {
        of: OUTPUTS,
        namespace,
        rules: rules.to_owned(),
    })
}

/// Writes the role for querying a member, in YAML. A comment shows how to bind it.
pub fn member_manifest() -> String {
    member_role().unbound("On each member. Bind it to the user that the suite queries it as")
}

/// Writes that role, its binding and the account that it is bound to.
pub fn member_manifest_bound_to(account: &ServiceAccount) -> String {
    account.bound(&[member_role()])
}

fn member_role() -> RbacRole<'static> {
    let leases = "kube-controller-manager, kube-scheduler";
    let resources = [
        ("", "nodes", "", "list"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "", "list"),
        ("about.k8s.io", "clusterproperties", "", "list"),
        ("coordination.k8s.io", "leases", leases, "get"),
    ];
    let mut rules = String::new();
    for (group, resource, names, verb) in resources {
        let names = match names {
            "" => String::new(),
            names => format!("  resourceNames: [{names}]\n"),
        };
        rules += &format!("- apiGroups: [{group:?}]\n  resources: [{resource}]\n{names}  verbs: [{verb}]\n");
    }
    RbacRole {
        of: MEMBER,
        namespace: None,
        rules: rules + "- nonResourceURLs: [/readyz, /version]\n  verbs: [get]\n",
    }
}
