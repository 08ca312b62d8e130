//! Consumers' Secrets, tried on members.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::*;

/// Where Secrets and endpoints lead, by host and port.
#[derive(Default)]
pub(super) struct Switchboard(pub HashMap<String, Fake>);

impl Switchboard {
    pub(super) fn to(members: impl IntoIterator<Item = (&'static str, Fake)>) -> Arc<Self> {
        let hosts = members.into_iter();
        let hosts = hosts.map(|(host, fake)| (format!("{host}:6443"), fake));
        Arc::new(Self(hosts.collect()))
    }
}

impl Dial for Switchboard {
    fn connect(&self, config: Config) -> Result<Client, ClientError> {
        let host = config.cluster_url.authority().map_or("", |host| host.as_str());
        let user = serde_json::to_value(&config.auth_info).expect("a user");
        let silent = || ClientError::Refused("no server answers there".to_owned());
        let fake = self.0.get(host).ok_or_else(silent)?;
        Ok(fake.client_as(user["token"].as_str().unwrap_or_default()))
    }
}

fn kubeconfig(server: &str, user: Value) -> String {
    json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "m", "user": "u"}}],
        "clusters": [{"name": "m", "cluster": {"server": server}}], "users": [{"name": "u", "user": user}],
    })
    .to_string()
}

impl World {
    /// A consumer's Secret for the profile of the same name.
    async fn secret(&self, name: &str, profile: &str, config: &str) {
        let secret = json!({
            "metadata": {"name": name, "labels": {
                "x-k8s.io/cluster-profile": profile, "x-k8s.io/cluster-profile-namespace": "default",
            }},
            "data": {"Config": BASE64.encode(config)},
        });
        self.create(SECRETS, secret).await;
    }
}

fn from_secrets(seconds: u64, members: impl IntoIterator<Item = (&'static str, Fake)>) -> Plan {
    Plan {
        members: Members {
            from_secrets: true,
            dial: Switchboard::to(members),
            ..Members::default()
        },
        ..plan(seconds)
    }
}

fn login<'a>(evidence: &'a Evidence, secret: &str) -> &'a LoginOutcome {
    let named = |login: &&Login| format!("{:?}", login.credential).contains(&format!("name: {secret:?}"));
    &evidence.logins.iter().find(named).expect("it was tried").outcome
}

#[tokio::test(start_paused = true)]
async fn each_secret_is_tried_and_the_first_that_opens_is_the_way() {
    let world = World::of(&["a", "b", "c", "old"]).await;
    let token = || json!({"token": "CANARY-token"});
    let plugin = json!({"exec": {"command": "CANARY"}});
    for (secret, profile, server, user) in [
        ("a1", "a", "a", token()),
        ("a0", "a", "a", plugin),
        ("b1", "b", "b", token()),
        ("c1", "c", "c", token()),
        ("d1", "d", "nowhere", token()),
        ("old1", "old", "old", token()),
    ] {
        let config = kubeconfig(&format!("https://{server}:6443"), user);
        world.secret(secret, profile, &config).await;
    }
    world.secret("c2", "c", "users: [CANARY: {").await;
    let refusal = r#"{"message": "unknown token CANARY-token"}"#;
    let (a, b) = (Fake::accepting(), Fake::but_for("/apis/auth", 401, refusal));
    // It does not report users, but the rights of those that it knows.
    let old = Fake::new(|_, path| match path {
        _ if path.ends_with("selfsubjectaccessreviews") => {
            (201, json!({"status": {"allowed": false}}).to_string())
        }
        _ => well(path),
    });
    let members = [("a", a.clone()), ("b", b), ("c", Fake::slow(20)), ("old", old)];
    let plan = from_secrets(50, members);
    let evidence = world.collect(&plan, async {}).await;

    for (secret, expected) in [
        ("a1", "Accepted { user: \"u\", everything: Some(true) }"),
        ("a0", "plugin, which is not run"),
        ("b1", "Refused { code: 401"),
        ("c1", "no answer came for 10 s"),
        ("c2", "NoCredential"),
        ("d1", "no server answers there"),
        (
            "old1",
            "Accepted { user: \"(unknown)\", everything: Some(false) }",
        ),
    ] {
        let outcome = format!("{:?}", login(&evidence, secret));
        assert!(outcome.contains(expected), "{secret}: {outcome}");
    }
    assert_eq!(evidence.members.len(), 4, "there is no profile `d`");

    assert_eq!(member(&evidence, "a").access, "Secret default/a1");
    assert_eq!(member(&evidence, "a").samples.len(), 2);
    let closed = evidence.gaps(Kind::Members);
    let closed = closed.filter_map(|gap| Some(gap.object.as_ref()?.name.as_str()));
    assert!(closed.eq(["b", "c"]), "{:?}", evidence.gaps);
    assert_no_canary(&evidence);
    let posts = a.seen().into_iter().filter(|(method, ..)| method != "GET");
    assert!(posts.into_iter().all(|(_, path, _)| path.ends_with("reviews")));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_renewed_meanwhile_is_tried_again() {
    let world = World::of(&["a"]).await;
    let valid = Arc::new(Mutex::new(false));
    let renewed = Arc::clone(&valid);
    let fake = Fake::new(move |_, path| {
        let is_valid = *valid.lock().expect("no panic");
        match (path.contains("selfsubject"), is_valid) {
            (false, _) => well(path),
            (true, true) => accepted(),
            (true, false) => (401, String::new()),
        }
    });
    let config = kubeconfig("https://a:6443", json!({"token": "CANARY-token"}));
    world.secret("old", "a", &config).await;
    world.secret("gone", "a", &config).await;
    let events = async {
        after(30).await;
        *renewed.lock().expect("no panic") = true;
        world.secret("new", "a", &config).await;
        world
            .send(Method::DELETE, "/api/v1/namespaces/default/secrets/gone", None)
            .await
            .expect("deleted");
    };
    let evidence = world.collect(&from_secrets(60, [("a", fake)]), events).await;
    assert_eq!(evidence.logins.len(), 2);
    for secret in ["old", "new"] {
        let outcome = login(&evidence, secret);
        assert!(matches!(outcome, LoginOutcome::Accepted { .. }), "{secret}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_way_that_was_given_goes_before_a_secret() {
    let world = World::of(&["a"]).await;
    let config = kubeconfig("https://a:6443", json!({"token": "CANARY-token"}));
    world.secret("s", "a", &config).await;
    let mut plan = from_secrets(0, [("a", Fake::accepting())]);
    plan.members.access = vec![way("a", Fake::well().client())];
    // The others live nowhere.
    plan.members.is_exclusive = true;
    world.secret("other", "b", &config).await;
    let evidence = world.collect(&plan, async {}).await;
    assert_eq!((evidence.members.len(), evidence.logins.len()), (1, 1));
    assert_eq!(member(&evidence, "a").access, "test a");
    assert!(matches!(login(&evidence, "s"), LoginOutcome::Accepted { .. }));
}

#[tokio::test(start_paused = true)]
async fn secrets_that_may_not_be_read_leave_a_gap_unless_there_are_other_ways() {
    let world = World::new()
        .await
        .with_rules(vec![refusals::reading_profiles("*")]);
    let mut plan = from_secrets(0, []);
    let evidence = world.collect(&plan, async {}).await;
    let gap = only_gap(&evidence, Kind::Members);
    assert!(gap.reason.contains("grant list on secrets"), "{gap:?}");
    plan.members.access = vec![way("a", Fake::well().client())];
    let evidence = world.collect(&plan, async {}).await;
    assert!(gaps(&evidence, Kind::Members).is_empty());
}
