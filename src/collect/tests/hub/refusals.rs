//! Hubs that refuse, and what the user reads then.

use apiserver::{PolicyRule, User};
use collect::connect::{Connection, KubeconfigOptions};
use evidence::Requested;

use super::*;

pub(super) fn rule(verbs: &[&str], group: &str, resource: &str, namespace: &str) -> PolicyRule {
    PolicyRule {
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        namespaces: vec![namespace.to_owned()],
        ..PolicyRule::default()
    }
}

impl World {
    /// This hub, for a user with only these rules.
    pub(super) fn with_rules(mut self, rules: Vec<PolicyRule>) -> Self {
        self.server.add_user(User::with_rules("reader", rules));
        self.hub.connection.client = self.server.client("reader");
        self
    }
}

pub(super) fn reading_profiles(namespace: &str) -> PolicyRule {
    let verbs = ["get", "list", "watch"];
    rule(&verbs, "multicluster.x-k8s.io", "clusterprofiles", namespace)
}

#[tokio::test(start_paused = true)]
async fn says_which_rights_are_missing() {
    let world = World::new().await.with_rules(Vec::new());
    let error = world.refusal(&plan(0)).await;
    assert!(error.contains("User \"reader\" cannot list"), "{error}");
    let manifest = &error[error.find("---").expect("a manifest")..];
    let roles: Vec<Value> = serde_saphyr::from_multiple(manifest).expect("YAML");
    assert_eq!(roles[0]["kind"], "ClusterRole");
}

#[tokio::test(start_paused = true)]
async fn runs_with_the_smallest_rights_and_says_what_others_would_add() {
    let world = World::new().await.with_rules(vec![reading_profiles("*")]);
    world.profile("a").await;
    let by_default = Plan {
        probe: EvidenceRequest::IfAllowed,
        ..plan(60)
    };
    let evidence = world.collect(&by_default, async {}).await;
    assert_eq!(evidence.inventory().count(), 1);
    assert!(evidence.is_whole(Kind::Timeline));
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    assert!(evidence.header.hub.served.is_empty());
    for (kind, grant) in [
        (Kind::Secrets, "grant list on secrets"),
        (Kind::Probe, "grant patch on clusterprofiles"),
        (Kind::Namespaces, "grant list on namespaces"),
    ] {
        let Requested::No(reason) = evidence.requested(kind) else {
            panic!("{kind} was asked for")
        };
        assert!(reason.contains(grant), "{reason}");
    }

    let claimed = Plan {
        secrets: EvidenceRequest::Explicit,
        probe: EvidenceRequest::Explicit,
        ..plan(0)
    };
    let evidence = world.collect(&claimed, async {}).await;
    for kind in [Kind::Secrets, Kind::Probe] {
        assert_eq!(*evidence.requested(kind), Requested::Yes);
        let gap = gaps(&evidence, kind)[0];
        assert!(gap.reason.contains("grant"), "{gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rights_in_a_namespace_do_for_that_namespace() {
    let rules = vec![
        reading_profiles("default"),
        rule(&["get"], "", "namespaces", "default"),
        rule(&["list"], "", "secrets", "default"),
    ];
    let world = World::new().await.with_rules(rules);
    world.profile("a").await;
    world.refusal(&plan(0)).await;
    let mut scoped = plan(60);
    scoped.scope.namespaces = vec!["default".to_owned()];
    let evidence = world.collect(&scoped, async {}).await;
    assert_eq!(evidence.inventory().count(), 1);
    for kind in [Kind::Timeline, Kind::Namespaces, Kind::Secrets] {
        assert!(evidence.is_whole(kind), "{kind}: {:?}", evidence.gaps);
    }
    assert_eq!(evidence.namespaces.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn says_that_the_crd_is_missing() {
    let world = World::new().await;
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterprofiles.multicluster.x-k8s.io";
    world.send(Method::DELETE, crd, None).await.expect("deleted");
    after(5).await;
    let error = world.refusal(&plan(0)).await;
    let expected = "serves no clusterprofiles.multicluster.x-k8s.io";
    assert!(error.contains(expected), "{error}");
}

#[tokio::test(start_paused = true)]
async fn says_when_credentials_are_not_accepted() {
    let mut world = World::new().await;
    world.hub.connection.client = world.server.client("nobody");
    let error = world.refusal(&plan(0)).await;
    assert!(error.contains("401") && error.contains("renew"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn says_which_versions_there_are() {
    let world = World::new().await;
    let mut wanted = plan(0);
    wanted.api_version = Some("v1".to_owned());
    let error = world.refusal(&wanted).await;
    assert!(error.contains("not in v1 but in v1alpha1"), "{error}");
    wanted.api_version = Some("v1alpha1".to_owned());
    let evidence = world.collect(&wanted, async {}).await;
    assert_eq!(evidence.header.hub.api_version.as_deref(), Some("v1alpha1"));
}

#[tokio::test(start_paused = true)]
async fn gives_up_on_a_hub_that_only_fails() {
    let world = World::new().await;
    world.refuse("list", 500, None, usize::MAX);
    let error = world.refusal(&plan(0)).await;
    assert!(error.contains("failed to list ClusterProfiles"), "{error}");
    assert!(error.contains("500"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_at_once_has_no_evidence() {
    let world = World::new().await;
    let at_once = future::ready(());
    let outcome = world
        .collect_and_report(&plan(60), &Quiet, async {}, at_once)
        .await;
    assert!(matches!(outcome, Err(CollectError::Stopped)));
}

/// In real time, as a socket is involved.
#[tokio::test]
async fn says_when_nobody_listens_and_when_it_is_no_tls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = ApiServer::new(apiserver::ServerClock::system());
    let serving = tokio::spawn(async move { server.serve(listener).await });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config");
    for (address, expected) in [
        ("127.0.0.1:1".to_owned(), "failed to reach the hub (context c): "),
        (address, "failed to connect to the hub (context c) securely: "),
    ] {
        let kubeconfig = json!({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": format!("https://{address}")}}],
            "users": [{"name": "u", "user": {"token": "CANARY"}}],
        });
        std::fs::write(&path, kubeconfig.to_string()).expect("written");
        let options = KubeconfigOptions {
            path: Some(path.clone()),
            ..KubeconfigOptions::default()
        };
        let hub = Connection::from_kubeconfig(&options).await.expect("a client");
        let error = collect(&hub, &plan(0), Clock::system(), &Quiet, CancellationToken::new())
            .await
            .expect_err("no hub");
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }
    serving.abort();
}
