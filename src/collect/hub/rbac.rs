//! The minimal RBAC roles of a run, as manifests to apply.
//!
//! What is bound to an account carries its namespace and name, so that no installation shares an object with another. All
//! of it carries the label [`LABEL_PART_OF`].

#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use evidence::{
    api::{
        ObjectKind, Role, names,
        syntax::{is_dns_label, is_dns_subdomain},
    },
    labels::{LABEL_NAME, LABEL_PART_OF, SUITE},
};

use crate::testbed::OutputPlace;

/// The evidence that a role gives access to, in addition to the profiles.
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
    /// Writes the roles in YAML: one for each namespace, or one for the cluster; with the account and their bindings to it
    /// or, without one, a comment that shows how to bind them.
    pub fn manifest(&self, account: Option<&ServiceAccount>) -> String {
        let namespaces = self.namespaces.iter().map(|namespace| self.role(Some(namespace)));
        let mut roles: Vec<RbacRole<'_>> = namespaces.collect();
        if roles.is_empty() {
            roles.push(self.role(None));
        }
        roles.extend(self.outputs.iter().filter_map(output_role));
        write_roles(&roles, account, "Bind it to the user that runs the suite")
    }

    fn role<'a>(&self, namespace: Option<&'a str>) -> RbacRole<'a> {
        const LABEL: &str = names::LABEL_SECRET_PROFILE;
        let mut rules = rule(names::GROUP, names::PLURAL, "", "list, watch");
        if self.placements {
            rules += &rule(names::GROUP, names::PLACEMENT_PLURAL, "", "list, watch");
        }
        if namespace.is_some() {
            rules += &rule("", "namespaces", "", "get");
        } else {
            rules += &rule("", "namespaces", "", "list");
            let kinds = ObjectKind::ALL.into_iter();
            let kinds = kinds.filter(|kind| self.placements || *kind == ObjectKind::ClusterProfile);
            let crds: Vec<_> = kinds
                .map(|kind| format!("{}.{}", kind.plural(), names::GROUP))
                .collect();
            rules += &rule(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                &crds.join(", "),
                "get",
            );
        }
        if self.secrets {
            rules += &format!("# For the consumers' Secrets (label {LABEL}): RBAC cannot select by label.\n");
            rules += &rule("", "secrets", "", "list");
        }
        if self.probe {
            rules += "# For dry runs, which change nothing: RBAC cannot distinguish them from real writes.\n";
            rules += &rule(names::GROUP, names::PLURAL, "", "patch");
        }
        if self.own_namespace && namespace.is_none() {
            rules += "# For the run's own namespace: RBAC cannot distinguish it from others.\n";
            rules += &rule("", "namespaces", "", "get, create, delete");
        }
        for role in &self.mutations {
            let kind = role.objects();
            let objects = match kind {
                ObjectKind::ClusterProfile => "profiles that the run has joined or created",
                ObjectKind::PlacementDecision => "slices that the run has asked for or created",
            };
            rules += &format!("# For a driver that may write: only to {objects}.\n");
            rules += &rule(names::GROUP, kind.plural(), "", "get, create, patch, delete");
            if kind == ObjectKind::ClusterProfile {
                rules += &rule(names::GROUP, &format!("{}/status", kind.plural()), "", "patch");
            }
            if *role == Role::Consumer {
                rules += "# For what a consumer says of the run's profiles, and gives away.\n";
                rules += &rule("", "configmaps, events", "", "list");
            }
        }
        RbacRole {
            of: SUITE,
            namespace,
            rules,
        }
    }
}

/// Writes one rule of a role; `names` is empty for all objects.
fn rule(group: &str, resources: &str, names: &str, verbs: &str) -> String {
    let names = match names {
        "" => String::new(),
        names => format!("  resourceNames: [{names}]\n"),
    };
    format!("- apiGroups: [{group:?}]\n  resources: [{resources}]\n{names}  verbs: [{verbs}]\n")
}

/// The role for reading what a consumer makes, if that is on the hub.
fn output_role(place: &OutputPlace) -> Option<RbacRole<'_>> {
    let (namespace, rules) = match place {
        OutputPlace::Argocd { namespace } => (Some(&**namespace), rule("", "secrets", "", "list")),
        OutputPlace::Multikueue {} => (None, rule("kueue.x-k8s.io", "multikueueclusters", "", "list")),
        OutputPlace::Kubeconfig { .. } | OutputPlace::Http { .. } => return None,
    };
    Some(RbacRole {
        of: OUTPUTS,
        namespace,
        rules,
    })
}

/// Writes roles with the account and their bindings to it or, without one, below a comment that shows how to bind them.
fn write_roles(roles: &[RbacRole], account: Option<&ServiceAccount>, to_whom: &str) -> String {
    match account {
        Some(account) => account.bound(roles),
        None => roles.iter().map(|role| role.unbound(to_whom)).collect(),
    }
}

/// Writes the role for querying a member, as [`Grants::manifest`] does.
pub fn member_manifest(account: Option<&ServiceAccount>) -> String {
    let leases = "kube-controller-manager, kube-scheduler";
    let rules = [
        rule("", "nodes", "", "list"),
        rule("apiextensions.k8s.io", "customresourcedefinitions", "", "list"),
        rule("about.k8s.io", "clusterproperties", "", "list"),
        rule("coordination.k8s.io", "leases", leases, "get"),
        "- nonResourceURLs: [/readyz, /version]\n  verbs: [get]\n".to_owned(),
    ];
    let role = RbacRole {
        of: MEMBER,
        namespace: None,
        rules: rules.concat(),
    };
    write_roles(
        &[role],
        account,
        "On each member. Bind it to the user that the suite queries it as",
    )
}

/// The ServiceAccount that roles are bound to. It parses from `NAMESPACE:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

/// Why a text is not the name of a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServiceAccountError(String);

impl FromStr for ServiceAccount {
    type Err = ServiceAccountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |message: &str| ServiceAccountError(message.to_owned());
        let (namespace, name) = text
            .split_once(':')
            .ok_or_else(|| invalid("write it as NAMESPACE:NAME"))?;
        if !is_dns_label(namespace) {
            return Err(invalid(&format!("{namespace:?} is not a valid namespace")));
        }
        if !is_dns_subdomain(name) {
            return Err(invalid(&format!(
                "{name:?} is not a valid name of a ServiceAccount"
            )));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.name)
    }
}

impl ServiceAccount {
    /// Writes the account, the roles and their bindings in YAML. The account's namespace has to exist.
    fn bound(&self, roles: &[RbacRole]) -> String {
        let Self { namespace, name } = self;
        let of = roles.first().map_or(SUITE, |role| role.of);
        let mut yaml = format!(
            "---\napiVersion: v1\nkind: ServiceAccount\n{}",
            metadata(of, name, Some(namespace))
        );
        for role in roles {
            let kind = role.kind();
            // No namespace and no account has a colon in its name.
            let role_name = format!("{}:{self}", role.of);
            let metadata = metadata(role.of, &role_name, role.namespace);
            yaml += &format!(
                "---\n{}---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\n{metadata}roleRef:\n  \
                 apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {role_name:?}\nsubjects:\n\
                 - kind: ServiceAccount\n  name: {name:?}\n  namespace: {namespace:?}\n",
                role.manifest(&role_name),
            );
        }
        yaml
    }
}

/// A role for the cluster, or for one namespace.
struct RbacRole<'a> {
    /// What it is for: the label `app.kubernetes.io/name`, with which its name begins.
    of: &'static str,
    /// None: the cluster.
    namespace: Option<&'a str>,
    /// In YAML.
    rules: String,
}

impl RbacRole<'_> {
    fn kind(&self) -> &'static str {
        match self.namespace {
            Some(_) => "Role",
            None => "ClusterRole",
        }
    }

    fn manifest(&self, name: &str) -> String {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\n{}rules:\n{}",
            self.kind(),
            metadata(self.of, name, self.namespace),
            self.rules
        )
    }

    /// Writes the role, below a comment that shows how to bind it.
    fn unbound(&self, to_whom: &str) -> String {
        let kind = self.kind().to_lowercase();
        let name = self.of;
        let scope = self
            .namespace
            .map(|namespace| format!(" --namespace {namespace}"))
            .unwrap_or_default();
        format!(
            "---\n# {to_whom}, for example:\n#   kubectl create {kind}binding {name}:USER --{kind}={name}{scope} --user=USER\n{}",
            self.manifest(name)
        )
    }
}

/// Writes metadata, with the labels by which all of it can be found.
fn metadata(of: &str, name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map(|namespace| format!("  namespace: {namespace:?}\n"));
    format!(
        "metadata:\n  name: {name:?}\n{}  labels:\n    {LABEL_NAME}: {of}\n    {LABEL_PART_OF}: {SUITE}\n",
        namespace.unwrap_or_default()
    )
}
