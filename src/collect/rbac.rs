//! The minimal RBAC roles of a run, as manifests to apply.

use std::fmt::Write as _;

use evidence::api::names;

/// The evidence that a role gives access to, beside the profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The namespaces of the profiles; empty: all of them.
    pub namespaces: Vec<String>,
    /// Read the consumers' Secrets. RBAC knows no labels, so this grants access to all Secrets.
    pub secrets: bool,
    /// Send dry-run writes. RBAC cannot distinguish them from real writes.
    pub probe: bool,
    /// Let a driver write to profiles of members that it joined, and to one of its own. RBAC cannot distinguish these
    /// from other profiles.
    pub mutations: bool,
}

/// The name of every role.
const NAME: &str = "clusterprofile-conformance";

impl Grants {
    /// Writes the roles in YAML: one for each namespace, or one for the cluster. A comment shows how to bind them.
    pub fn manifest(&self) -> String {
        let mut yaml = String::new();
        if self.namespaces.is_empty() {
            self.role(&mut yaml, None);
        }
        for namespace in &self.namespaces {
            self.role(&mut yaml, Some(namespace));
        }
        yaml
    }

    fn role(&self, yaml: &mut String, namespace: Option<&str>) {
        let kind = if namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        };
        let scope = namespace
            .map(|name| format!(" --namespace {name}"))
            .unwrap_or_default();
        let binding = format!(
            "{}binding {NAME} --{}={NAME}",
            kind.to_lowercase(),
            kind.to_lowercase()
        );
        let mut line = |text: &str| writeln!(yaml, "{text}").expect("a string takes all that is written");
        line("---");
        line("# Bind it to the user that runs the suite, such as:");
        line(&format!("#   kubectl create {binding}{scope} --user=NAME"));
        line("apiVersion: rbac.authorization.k8s.io/v1");
        line(&format!("kind: {kind}"));
        line("metadata:");
        line(&format!("  name: {NAME}"));
        if let Some(namespace) = namespace {
            line(&format!("  namespace: {namespace:?}"));
        }
        line("rules:");
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
        match namespace {
            Some(_) => rule(None, "", "namespaces", None, "get"),
            None => {
                rule(None, "", "namespaces", None, "list, watch");
                let crd = format!("{}.{}", names::PLURAL, names::GROUP);
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
            rule(Some(comment), names::GROUP, names::PLURAL, None, "update, patch");
        }
        if self.mutations {
            let comment = "For a driver that may write: only to profiles that the run has joined or created.";
            rule(
                Some(comment),
                names::GROUP,
                names::PLURAL,
                None,
                "create, patch, delete",
            );
            let status = format!("{}/status", names::PLURAL);
            rule(None, names::GROUP, &status, None, "patch");
        }
    }
}

/// Writes the role for querying a member, in YAML.
pub fn member_manifest() -> String {
    let leases = "kube-controller-manager, kube-scheduler";
    let rules = [
        ("", "nodes", "", "list"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "", "list"),
        ("about.k8s.io", "clusterproperties", "", "list"),
        ("coordination.k8s.io", "leases", leases, "get"),
    ];
    let mut yaml = format!(
        "---\n# On each member. Bind it to the user that the suite queries it as, such as:\n#   kubectl create clusterrolebinding \
         {NAME}-member --clusterrole={NAME}-member --user=NAME\napiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\nmetadata:\n  name: {NAME}-member\nrules:\n"
    );
    for (group, resource, names, verb) in rules {
        let names = match names {
            "" => String::new(),
            names => format!("  resourceNames: [{names}]\n"),
        };
        yaml += &format!("- apiGroups: [{group:?}]\n  resources: [{resource}]\n{names}  verbs: [{verb}]\n");
    }
    yaml + "- nonResourceURLs: [/readyz, /version]\n  verbs: [get]\n"
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
            mutations: true,
        });
        assert_eq!(all.len(), 2);
        assert_eq!(all[1]["metadata"]["namespace"], "true");
        assert!(all.iter().all(|role| role["kind"] == "Role"));
        for rule in [
            r#"{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}"#,
            r#""resources":["clusterprofiles"],"verbs":["create","patch","delete"]}"#,
            r#""resources":["clusterprofiles/status"],"verbs":["patch"]}"#,
        ] {
            assert!(all[0].to_string().contains(rule), "{rule}");
        }
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
}
