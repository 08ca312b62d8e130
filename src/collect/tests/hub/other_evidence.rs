//! Evidence other than profiles.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use evidence::{CredentialKind, Requested};

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
    let names = evidence.secrets.iter().map(|secret| secret.name.as_str());
    assert!(names.eq(["bad", "good"]), "{:?}", evidence.secrets);
    assert!(evidence.secrets[0].kubeconfig_error.is_some());
    let kubeconfig = evidence.secrets[1].kubeconfig.as_ref().expect("a kubeconfig");
    let kinds = kubeconfig.users[0].credentials.iter().map(|one| one.kind);
    assert!(
        kinds.eq([CredentialKind::Token, CredentialKind::ClientKey]),
        "{kubeconfig:?}"
    );
    assert_eq!(kubeconfig.clusters[0].server, "https://m.example:6443");

    assert_no_canary(&evidence);
    let text = serde_json::to_string(&evidence).expect("writes");
    let encoded = [KUBECONFIG, "CANARY-extra", "CANARY-other", "CANARY-key"].map(|text| BASE64.encode(text));
    for canary in encoded.iter().map(|text| &text[..12]) {
        assert!(!text.contains(canary), "{canary} in {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn evidence_that_is_not_wanted_says_why() {
    let world = World::new().await;
    plant_secrets(&world).await;
    let unwanted = Plan {
        secrets: EvidenceRequest::No("`--no-feature consumer-secrets`".into()),
        ..plan(0)
    };
    let evidence = world.collect(&unwanted, async {}).await;
    assert!(evidence.secrets.is_empty());
    assert_eq!(
        *evidence.requested(Kind::Secrets),
        Requested::No("`--no-feature consumer-secrets`".into())
    );
    let mut requests = world.requests().into_iter();
    assert!(requests.all(|event| event["objectRef"]["resource"] != "secrets"));
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
    let mut lists = world.requests();
    lists.retain(|event| event["objectRef"]["resource"] == "secrets" && event["verb"] == "list");
    let uris = lists.iter().map(|event| event["requestURI"].as_str());
    uris.map(|uri| uri.unwrap_or_default().to_owned()).collect()
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
    let asked = evidence.requested(Kind::UnlabelledSecrets);
    assert!(
        matches!(asked, Requested::No(reason) if reason.contains("claimed")),
        "{asked:?}"
    );
    assert_eq!(evidence.unlabelled_secrets, []);
    let lists = lists_of_secrets(&world);
    let is_labelled = |uri: &String| uri.contains("?labelSelector=x-k8s.io%2Fcluster-profile&limit=");
    assert!(lists.iter().all(is_labelled), "{lists:?}");

    let claimed = Plan {
        secrets: EvidenceRequest::Explicit,
        ..plan(0)
    };
    let evidence = world.collect(&claimed, async {}).await;
    assert!(evidence.is_whole(Kind::UnlabelledSecrets), "{:?}", evidence.gaps);
    let [found] = &evidence.unlabelled_secrets[..] else {
        panic!("{:?}", evidence.unlabelled_secrets)
    };
    let place = [&found.namespace, &found.name, &found.key].map(|part| part.as_str());
    assert_eq!(place, ["c2", "own", "value"]);
    assert_eq!(found.servers, ["https://m.example:6443"]);
    assert_no_canary(&evidence);
    let mut lists = lists_of_secrets(&world);
    lists.retain(|uri| uri.contains("labelSelector=!") || uri.contains("labelSelector=%21"));
    assert_eq!(lists.len(), 1, "{lists:?}");
    assert!(
        lists[0].starts_with("/api/v1/namespaces/c2/secrets?"),
        "{lists:?}"
    );
}
