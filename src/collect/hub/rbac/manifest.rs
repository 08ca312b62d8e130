//! Writes roles, bindings and accounts in YAML.
//!
//! What is bound to an account carries its namespace and name, so that no installation shares an object with another. All
//! of it carries the label [`LABEL_PART_OF`].

use std::{fmt, str::FromStr};

use evidence::{
    api::syntax::{is_dns_label, is_dns_subdomain},
    labels::{LABEL_NAME, LABEL_PART_OF, SUITE},
};

/// The ServiceAccount that roles are bound to. It parses from `NAMESPACE:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

/// Why a text names no ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceAccountError {
    /// There is no colon.
    #[error("write it as NAMESPACE:NAME")]
    NoNamespace,
    /// The API server would refuse the namespace.
    #[error("{0:?} is no name of a namespace")]
    Namespace(String),
    /// The API server would refuse the name.
    #[error("{0:?} is no name of a ServiceAccount")]
    Name(String),
}

impl FromStr for ServiceAccount {
    type Err = ServiceAccountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once(':').ok_or(ServiceAccountError::NoNamespace)?;
        if !is_dns_label(namespace) {
            return Err(ServiceAccountError::Namespace(namespace.to_owned()));
        }
        if !is_dns_subdomain(name) {
            return Err(ServiceAccountError::Name(name.to_owned()));
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
    pub(super) fn bound(&self, roles: &[RbacRole]) -> String {
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
pub(super) struct RbacRole<'a> {
    /// What it is for: the label `app.kubernetes.io/name`, with which its name begins.
    pub of: &'static str,
    /// None: the cluster.
    pub namespace: Option<&'a str>,
    /// In YAML.
    pub rules: String,
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
    pub(super) fn unbound(&self, to_whom: &str) -> String {
        let kind = self.kind().to_lowercase();
        let name = self.of;
        let scope = self
            .namespace
            .map(|namespace| format!(" --namespace {namespace}"))
            .unwrap_or_default();
        format!(
            "---\n# {to_whom}, such as:\n#   kubectl create {kind}binding {name}:USER --{kind}={name}{scope} --user=USER\n{}",
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
