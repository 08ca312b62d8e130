//! The minimal RBAC roles of a run, as manifests to apply.

use std::{fmt::Write as _, str::FromStr};

use evidence::api::{
    Api, names,
    syntax::{is_dns_label, is_dns_subdomain},
};

/// The evidence that a role gives access to, beside the profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The namespaces of the profiles; empty: all of them.
    pub namespaces: Vec<String>,
    /// Read placement decisions.
    pub placements: bool,
    /// Ask what consumers of placements may do (SubjectAccessReviews), which needs a role for the cluster.
    pub consumer_access: bool,
    /// Read the consumers' Secrets. RBAC knows no labels, so this grants access to all Secrets.
    pub secrets: bool,
    /// Send dry-run writes. RBAC cannot distinguish them from real writes.
    pub probe: bool,
    /// Read the suite's own admission policies, which needs a role for the cluster.
    pub policies: bool,
    /// The APIs to whose objects a driver may write: to those that the run has brought about. RBAC cannot distinguish
    /// these from other objects.
    pub mutations: Vec<Api>,
    /// True if the role is for a monitor. It has another name than that of a run.
    pub monitor: bool,
}

/// The name of the role of a run, and of its binding.
const NAME: &str = "clusterprofile-conformance";
/// The name of the role of a monitor, and of its binding.
const MONITOR_NAME: &str = "clusterprofile-conformance-monitor";
/// The name of the role on a member, and of its binding.
const MEMBER_NAME: &str = "clusterprofile-conformance-member";

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

impl ServiceAccount {
    /// Writes the account, the roles and their bindings in YAML. The account's namespace has to exist.
    fn bound(&self, roles: &[Role]) -> String {
        let Self { namespace, name } = self;
        let mut yaml = format!(
            "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name:?}\n  namespace: {namespace:?}\n"
        );
        for role in roles {
            let Role {
                kind,
                name: role_name,
                ..
            } = role;
            yaml += &format!(
                "---\n{}---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\n{}roleRef:\n  \
                 apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {role_name}\nsubjects:\n\
                 - kind: ServiceAccount\n  name: {name:?}\n  namespace: {namespace:?}\n",
                role.manifest(),
                role.metadata(),
            );
        }
        yaml
    }
}

/// A role for the cluster, or for one namespace.
struct Role<'a> {
    kind: &'static str,
    name: &'static str,
    namespace: Option<&'a str>,
    /// In YAML.
    rules: String,
}

impl Role<'_> {
    fn manifest(&self) -> String {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\n{}rules:\n{}",
            self.kind,
            self.metadata(),
            self.rules
        )
    }

    fn metadata(&self) -> String {
        let namespace = self
            .namespace
            .map(|namespace| format!("  namespace: {namespace:?}\n"));
        format!(
            "metadata:\n  name: {}\n{}",
            self.name,
            namespace.unwrap_or_default()
        )
    }

    /// Writes the role, below a comment that shows how to bind it.
    fn unbound(&self, to_whom: &str) -> String {
        let kind = self.kind.to_lowercase();
        let name = self.name;
        let scope = self
            .namespace
            .map(|namespace| format!(" --namespace {namespace}"))
            .unwrap_or_default();
        format!(
            "---\n# {to_whom}, such as:\n#   kubectl create {kind}binding {name} --{kind}={name}{scope} --user=NAME\n{}",
            self.manifest()
        )
    }
}

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

    fn roles(&self) -> Vec<Role<'_>> {
        if self.namespaces.is_empty() {
            return vec![self.role(None)];
        }
        let namespaces = self.namespaces.iter();
        namespaces.map(|namespace| self.role(Some(namespace))).collect()
    }

    fn role<'a>(&self, namespace: Option<&'a str>) -> Role<'a> {
        let kind = if namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        };
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
        rule(None, names::GROUP, names::PLURAL, None, "get, list, watch");
        if self.placements {
            rule(
                None,
                names::GROUP,
                names::PLACEMENT_PLURAL,
                None,
                "get, list, watch",
            );
        }
        if self.consumer_access && namespace.is_none() {
            let comment = "For asking what consumers of placements may do: it changes nothing.";
            let resource = "subjectaccessreviews";
            rule(Some(comment), "authorization.k8s.io", resource, None, "create");
        }
        match namespace {
            Some(_) => rule(None, "", "namespaces", None, "get"),
            None => {
                rule(None, "", "namespaces", None, "list, watch");
                let definition = |plural: &str| format!("{plural}.{}", names::GROUP);
                let mut crd = definition(names::PLURAL);
                if self.placements {
                    crd += &format!(", {}", definition(names::PLACEMENT_PLURAL));
                }
                let resource = "customresourcedefinitions";
                rule(None, "apiextensions.k8s.io", resource, Some(&crd), "get");
            }
        }
        if self.policies && namespace.is_none() {
            let comment = "For the report on the suite's own admission policies.";
            let resource = "validatingadmissionpolicies, validatingadmissionpolicybindings";
            rule(
                Some(comment),
                "admissionregistration.k8s.io",
                resource,
                None,
                "list",
            );
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
            rule(Some(comment), names::GROUP, names::PLURAL, None, "update, patch");
        }
        for api in &self.mutations {
            let comment = match api {
                Api::ClusterProfile => {
                    "For a driver that may write: only to profiles that the run has joined or created."
                }
                Api::Placement => {
                    "For a driver that may write: only to slices that the run has asked for or created."
                }
            };
            rule(
                Some(comment),
                names::GROUP,
                api.plural(),
                None,
                "create, patch, delete",
            );
            if *api == Api::ClusterProfile {
                let status = format!("{}/status", names::PLURAL);
                rule(None, names::GROUP, &status, None, "patch");
            }
        }
        Role {
            kind,
            name: if self.monitor { MONITOR_NAME } else { NAME },
            namespace,
            rules,
        }
    }
}

/// Writes the role for querying a member, in YAML. A comment shows how to bind it.
pub fn member_manifest() -> String {
    member_role().unbound("On each member. Bind it to the user that the suite queries it as")
}

/// Writes that role, its binding and the account that it is bound to.
pub fn member_manifest_bound_to(account: &ServiceAccount) -> String {
    account.bound(&[member_role()])
}

fn member_role() -> Role<'static> {
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
    Role {
        kind: "ClusterRole",
        name: MEMBER_NAME,
        namespace: None,
        rules: rules + "- nonResourceURLs: [/readyz, /version]\n  verbs: [get]\n",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn rules(grants: &Grants) -> Vec<Value> {
        serde_saphyr::from_multiple(&grants.manifest()).expect("YAML")
    }

    #[test]
    fn asks_for_no_more_than_is_used() {
        let roles = rules(&Grants::default());
        assert_eq!(roles.len(), 1);
        assert_eq!(roles[0]["kind"], "ClusterRole");
        let text = roles[0].to_string();
        for verb in ["create", "update", "patch", "delete", "secrets", "*"] {
            assert!(!text.contains(&format!("\"{verb}\"")), "{text}");
        }
        let all = rules(&Grants {
            namespaces: vec!["a".to_owned(), "true".to_owned()],
            secrets: true,
            probe: true,
            mutations: Api::ALL.to_vec(),
            placements: true,
            consumer_access: false,
            policies: true,
            monitor: false,
        });
        assert!(!all[0].to_string().contains("validatingadmissionpolicies"));
        assert_eq!(all.len(), 2);
        assert_eq!(all[1]["metadata"]["namespace"], "true");
        assert!(all.iter().all(|role| role["kind"] == "Role"));
        for rule in [
            r#"{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}"#,
            r#""resources":["placementdecisions"],"verbs":["get","list","watch"]}"#,
            r#""resources":["clusterprofiles"],"verbs":["create","patch","delete"]}"#,
            r#""resources":["clusterprofiles/status"],"verbs":["patch"]}"#,
            r#""resources":["placementdecisions"],"verbs":["create","patch","delete"]}"#,
        ] {
            assert!(all[0].to_string().contains(rule), "{rule}");
        }
    }

    #[test]
    fn rights_of_consumers_are_asked_for_by_a_role_for_the_cluster() {
        let grants = Grants {
            placements: true,
            consumer_access: true,
            ..Grants::default()
        };
        let role = rules(&grants)[0].to_string();
        assert!(
            role.contains(r#""resources":["subjectaccessreviews"],"verbs":["create"]}"#),
            "{role}"
        );
        assert!(
            role.contains("placementdecisions.multicluster.x-k8s.io"),
            "{role}"
        );
        let without = rules(&Grants::default())[0].to_string();
        assert!(
            !without.contains("placement") && !without.contains("reviews"),
            "{without}"
        );
    }

    #[test]
    fn a_monitor_reads_what_a_run_reads_by_a_role_of_its_own() {
        let roles = rules(&Grants {
            monitor: true,
            ..Grants::default()
        });
        let [role] = &roles[..] else { panic!("{roles:?}") };
        // Beside the role of a run, on the same hub.
        assert_eq!(role["metadata"]["name"], MONITOR_NAME);
        assert_eq!(role["rules"], rules(&Grants::default())[0]["rules"]);
    }

    #[test]
    fn a_member_s_reader_only_reads() {
        let roles: Vec<Value> = serde_saphyr::from_multiple(&member_manifest()).expect("YAML");
        let rules = roles[0]["rules"].as_array().expect("rules");
        let verbs = rules
            .iter()
            .flat_map(|rule| rule["verbs"].as_array().expect("verbs"));
        assert!(verbs.into_iter().all(|verb| verb == "get" || verb == "list"));
        assert_eq!(rules[3]["resourceNames"][1], "kube-scheduler");
    }

    #[test]
    fn an_account_is_bound_to_each_role() {
        let account: ServiceAccount = "tests:runner".parse().expect("an account");
        let grants = Grants {
            namespaces: vec!["a".to_owned(), "b".to_owned()],
            ..Grants::default()
        };
        let unbound = rules(&grants);
        let bound: Vec<Value> =
            serde_saphyr::from_multiple(&grants.manifest_bound_to(&account)).expect("YAML");
        assert_eq!(bound.len(), 5);
        assert_eq!(bound[0]["kind"], "ServiceAccount");
        assert_eq!([&bound[1], &bound[3]], [&unbound[0], &unbound[1]]);
        for (role, binding) in [(1, 2), (3, 4)] {
            let (role, binding) = (&bound[role], &bound[binding]);
            assert_eq!(binding["kind"], "RoleBinding");
            assert_eq!(binding["metadata"], role["metadata"]);
            assert_eq!(binding["roleRef"]["kind"], role["kind"]);
            assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
            assert_eq!(binding["subjects"][0]["name"], bound[0]["metadata"]["name"]);
            assert_eq!(
                binding["subjects"][0]["namespace"],
                bound[0]["metadata"]["namespace"]
            );
        }
        let member = member_manifest_bound_to(&account);
        assert!(member.contains("kind: ClusterRoleBinding") && member.contains("nonResourceURLs"));
    }

    #[test]
    fn an_account_needs_names_that_the_api_server_takes() {
        for (text, complaint) in [
            ("runner", "write it as NAMESPACE:NAME"),
            (":runner", "\"\" is no name of a namespace"),
            ("te.sts:runner", "\"te.sts\" is no name of a namespace"),
            ("tests:", "\"\" is no name of a ServiceAccount"),
            ("tests:run:ner", "\"run:ner\" is no name of a ServiceAccount"),
        ] {
            let error = text.parse::<ServiceAccount>().expect_err("none");
            assert_eq!(error.to_string(), complaint);
        }
    }
}
