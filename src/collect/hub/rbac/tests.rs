//! What the manifests grant, and under which names.

use serde_json::Value;

use super::*;

fn rules(grants: &Grants) -> Vec<Value> {
    serde_saphyr::from_multiple(&grants.manifest(None)).expect("YAML")
}

#[test]
fn what_a_consumer_makes_has_a_role_where_it_is() {
    let grants = Grants {
        namespaces: vec!["inventory".to_owned()],
        mutations: vec![Role::Consumer],
        outputs: vec![
            OutputPlace::Argocd {
                namespace: "argocd".to_owned(),
            },
            OutputPlace::Multikueue {},
            OutputPlace::Kubeconfig { path: "/a".into() },
        ],
        ..Grants::default()
    };
    let roles = rules(&grants);
    assert_eq!(roles.len(), 3);
    assert!(!roles[0].to_string().contains("secrets"), "{}", roles[0]);
    let place = |role: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&role["kind"]), text(&role["metadata"]["namespace"]))
    };
    assert_eq!(place(&roles[1]), ("Role".to_owned(), "argocd".to_owned()));
    assert_eq!(place(&roles[2]), ("ClusterRole".to_owned(), String::new()));
    let account = "ci:runner".parse().expect("an account");
    let bound: Vec<Value> = serde_saphyr::from_multiple(&grants.manifest(Some(&account))).expect("YAML");
    let names: std::collections::BTreeSet<String> = bound
        .iter()
        .map(|object| format!("{} {}", object["kind"], object["metadata"]))
        .collect();
    assert_eq!(
        names.len(),
        7,
        "an account, and three roles and bindings that share no name: {names:?}"
    );
}

#[test]
fn an_account_is_bound_to_each_role() {
    let account: ServiceAccount = "tests:runner".parse().expect("an account");
    let grants = Grants {
        namespaces: vec!["a".to_owned(), "true".to_owned()],
        ..Grants::default()
    };
    let unbound = rules(&grants);
    let bound: Vec<Value> = serde_saphyr::from_multiple(&grants.manifest(Some(&account))).expect("YAML");
    assert_eq!(bound.len(), 5);
    assert_eq!(bound[0]["kind"], "ServiceAccount");
    for (number, (role, binding)) in [(1, 2), (3, 4)].into_iter().enumerate() {
        let (role, binding) = (&bound[role], &bound[binding]);
        assert_eq!(role["rules"], unbound[number]["rules"]);
        assert_eq!(
            role["metadata"]["name"],
            "clusterprofile-conformance:tests:runner"
        );
        assert_eq!(
            role["metadata"]["namespace"],
            unbound[number]["metadata"]["namespace"]
        );
        assert_eq!(role["metadata"]["labels"], bound[0]["metadata"]["labels"]);
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
    let member = member_manifest(Some(&account));
    assert!(member.contains("kind: ClusterRoleBinding") && member.contains("nonResourceURLs"));
}

#[test]
fn an_account_needs_names_that_the_api_server_takes() {
    for (text, complaint) in [
        ("runner", "write it as NAMESPACE:NAME"),
        (":runner", "\"\" is not a valid namespace"),
        ("te.sts:runner", "\"te.sts\" is not a valid namespace"),
        ("tests:", "\"\" is not a valid name of a ServiceAccount"),
        (
            "tests:run:ner",
            "\"run:ner\" is not a valid name of a ServiceAccount",
        ),
    ] {
        let error = text.parse::<ServiceAccount>().expect_err("none");
        assert_eq!(error.to_string(), complaint);
    }
}
