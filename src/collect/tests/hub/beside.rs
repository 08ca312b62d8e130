//! What is collected beside the profiles.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use evidence::{Asked, CredentialKind};

use super::*;

const KUBECONFIG: &str = r"
current-context: c
contexts: [{name: c, context: {cluster: m, user: u}}]
clusters: [{name: m, cluster: {server: 'https://CANARY@m.example:6443', certificate-authority-data: Q0FOQVJZLWNh}}]
users: [{name: u, user: {token: CANARY-token, client-key-data: Q0FOQVJZLWtleQ==}}]
";

async fn plant_secrets(world: &World) {
    world.namespace("c1").await;
    for (name, config) in [("good", KUBECONFIG), ("bad", "users: [CANARY: {")] {
        let secret = json!({
            "metadata": {
                "name": name, "labels": {"x-k8s.io/cluster-profile": "a"}, "annotations": {"note": "CANARY-note"},
            },
            "data": {"Config": BASE64.encode(config), "extra": BASE64.encode("CANARY-extra")},
        });
        world.create("/api/v1/namespaces/c1/secrets", secret).await;
    }
    let other = json!({"metadata": {"name": "other"}, "data": {"Config": BASE64.encode("CANARY-other")}});
    world.create("/api/v1/namespaces/c1/secrets", other).await;
}

#[tokio::test(start_paused = true)]
async fn digests_labelled_secrets_and_keeps_no_value() {
    let world = World::new().await;
    plant_secrets(&world).await;
    let evidence = world.watch(0, async {}).await;
    let names: Vec<_> = evidence
        .secrets
        .iter()
        .map(|secret| secret.name.as_str())
        .collect();
    assert_eq!(names, ["bad", "good"]);
    assert!(evidence.secrets[0].kubeconfig_error.is_some());
    let kubeconfig = evidence.secrets[1].kubeconfig.as_ref().expect("a kubeconfig");
    let kinds: Vec<_> = kubeconfig.users[0]
        .credentials
        .iter()
        .map(|one| one.kind)
        .collect();
    assert_eq!(kinds, [CredentialKind::Token, CredentialKind::ClientKey]);
    assert_eq!(kubeconfig.clusters[0].server, "https://m.example:6443");

    let told = format!(
        "{} {evidence:?}",
        serde_json::to_string(&evidence).expect("writes")
    );
    let encoded = [KUBECONFIG, "CANARY-extra", "CANARY-other", "CANARY-key"].map(|text| BASE64.encode(text));
    for canary in encoded.iter().map(|text| &text[..12]).chain(["CANARY"]) {
        assert!(!told.contains(canary), "{canary} in {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn evidence_that_is_not_wanted_says_why() {
    let world = World::new().await;
    plant_secrets(&world).await;
    let unwanted = Plan {
        secrets: Wish::No("`--no-feature consumer-secrets`".into()),
        ..plan(0)
    };
    let evidence = world.collect(&unwanted, async {}).await.expect("evidence");
    assert!(evidence.secrets.is_empty());
    assert_eq!(
        *evidence.asked(Kind::Secrets),
        Asked::No("`--no-feature consumer-secrets`".into())
    );
    assert!(
        world
            .requests()
            .iter()
            .all(|event| event["objectRef"]["resource"] != "secrets")
    );
}

#[tokio::test(start_paused = true)]
async fn shows_namespaces_as_they_are_in_the_end() {
    let world = World::new().await;
    world.namespace("old").await;
    let events = async {
        after(30).await;
        let labels =
            json!({"metadata": {"name": "new", "labels": {"x-k8s.io/cluster-inventory-consumer": "c"}}});
        world.create("/api/v1/namespaces", labels).await;
    };
    let evidence = world.watch(60, events).await;
    assert!(evidence.namespace("old").is_some());
    let new = evidence.namespace("new").expect("the new one");
    assert_eq!(new.labels["x-k8s.io/cluster-inventory-consumer"], "c");
}

/// The paths of the lists of Secrets that the runner asked for.
fn lists_of_secrets(world: &World) -> Vec<String> {
    let requests = world.requests().into_iter();
    requests
        .filter(|event| event["objectRef"]["resource"] == "secrets" && event["verb"] == "list")
        .map(|event| event["requestURI"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn secrets_without_the_label_are_read_only_where_they_are_claimed() {
    let world = World::new().await;
    plant_secrets(&world).await;
    for (place, consumer) in [("c2", "batch"), ("c3", "")] {
        let labels = json!({"x-k8s.io/cluster-inventory-consumer": consumer});
        let namespace = json!({"metadata": {"name": place, "labels": labels}});
        world.create("/api/v1/namespaces", namespace).await;
        for (name, kind, text) in [
            ("own", "Opaque", KUBECONFIG),
            ("plain", "Opaque", "CANARY-plain"),
            ("release", "helm.sh/release.v1", KUBECONFIG),
        ] {
            let data = json!({"value": BASE64.encode(text)});
            let secret = json!({"metadata": {"name": name}, "type": kind, "data": data});
            let path = format!("/api/v1/namespaces/{place}/secrets");
            world.create(&path, secret).await;
        }
    }

    let evidence = world.watch(0, async {}).await;
    assert!(
        matches!(evidence.asked(Kind::UnlabelledSecrets), Asked::No(reason) if reason.contains("claimed"))
    );
    assert_eq!(evidence.unlabelled_secrets, []);
    let lists = lists_of_secrets(&world);
    assert!(
        lists
            .iter()
            .all(|uri| uri.contains("?labelSelector=x-k8s.io%2Fcluster-profile&limit=")),
        "{lists:?}"
    );

    let claimed = Plan {
        secrets: Wish::Asked,
        ..plan(0)
    };
    let evidence = world.collect(&claimed, async {}).await.expect("evidence");
    assert!(evidence.is_whole(Kind::UnlabelledSecrets), "{:?}", evidence.gaps);
    let found: Vec<_> = evidence
        .unlabelled_secrets
        .iter()
        .map(|secret| {
            (
                secret.namespace.as_str(),
                secret.name.as_str(),
                secret.key.as_str(),
            )
        })
        .collect();
    assert_eq!(found, [("c2", "own", "value")]);
    assert_eq!(evidence.unlabelled_secrets[0].servers, ["https://m.example:6443"]);
    let told = format!(
        "{} {evidence:?}",
        serde_json::to_string(&evidence).expect("writes")
    );
    assert!(!told.contains("CANARY"), "{told}");
    let lists = lists_of_secrets(&world);
    let unlabelled = lists
        .iter()
        .filter(|uri| uri.contains("labelSelector=!") || uri.contains("labelSelector=%21"));
    assert!(unlabelled.clone().count() == 1, "{lists:?}");
    assert!(
        unlabelled
            .clone()
            .all(|uri| uri.starts_with("/api/v1/namespaces/c2/secrets?")),
        "{lists:?}"
    );
}
