//! Credentials of plugins, tried on members.

use std::collections::BTreeMap;

use collect::plugins::{PluginCommand, Plugins, Provider, Ran, Runner};
use futures::future::{BoxFuture, FutureExt as _};

use super::{credentials::Switchboard, *};

const V1: &str = "client.authentication.k8s.io/v1";

/// What is issued when that many seconds have passed.
type Issue = dyn Fn(i64) -> Result<(String, i64), Ran> + Send + Sync;

/// A plugin that answers with the function's token and for how long that is good, by the time that has passed.
struct Issuer {
    clock: Clock,
    issue: Box<Issue>,
    runs: Mutex<Vec<i64>>,
}

impl Issuer {
    fn new(
        world: &World,
        issue: impl Fn(i64) -> Result<(String, i64), Ran> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock: world.clock,
            issue: Box::new(issue),
            runs: Mutex::default(),
        })
    }

    fn runs(&self) -> Vec<i64> {
        self.runs.lock().expect("no panic").clone()
    }
}

impl Runner for Issuer {
    fn run<'a>(&'a self, _: &'a PluginCommand) -> BoxFuture<'a, Ran> {
        let now = self.clock.now();
        self.runs.lock().expect("no panic").push(seconds(now));
        let ran = (self.issue)(seconds(now)).map_or_else(
            |ran| ran,
            |(token, good)| {
                let expires = now + jiff::SignedDuration::from_secs(good);
                let status = json!({"token": token, "expirationTimestamp": expires.to_string()});
                let answer = json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
                Ran::Answered(answer.to_string().into_bytes().into())
            },
        );
        std::future::ready(ran).boxed()
    }
}

impl World {
    /// A profile whose access provider leads there.
    async fn provided(&self, name: &str, server: &str) {
        self.profile(name).await;
        self.set_status(name, status(json!({"server": server}))).await;
    }
}

fn status(cluster: Value) -> Value {
    json!({"accessProviders": [{"name": "p", "cluster": cluster}]})
}

/// A plan that runs that plugin for the access provider `p`.
fn plugged(
    seconds: u64,
    runner: Arc<dyn Runner>,
    members: impl IntoIterator<Item = (&'static str, Fake)>,
) -> Plan {
    Plan {
        members: Members {
            plugins: Some(Plugins {
                providers: vec![Provider::named("p")],
                runner,
            }),
            dial: Switchboard::to(members),
            ..Members::default()
        },
        ..plan(seconds)
    }
}

/// What came of the plugins, by profile.
fn outcomes(evidence: &Evidence) -> BTreeMap<&str, &LoginOutcome> {
    let logins = evidence.logins.iter().map(|login| {
        assert_eq!(login.credential, LoginCredential::Plugin("p".to_owned()));
        (&*login.profile.name, &login.outcome)
    });
    logins.collect()
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_works_is_the_way_and_is_renewed_when_it_expires() {
    let world = World::new().await;
    world.provided("a", "https://a:6443").await;
    let issuer = Issuer::new(&world, |now| Ok((format!("CANARY-token-{now}"), 45)));
    let fake = Fake::accepting();
    let plan = plugged(110, Arc::clone(&issuer) as Arc<dyn Runner>, [("a", fake.clone())]);
    let evidence = world.collect(&plan, async {}).await;
    assert_eq!(*evidence.requested(Kind::Plugins), Requested::Yes);
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    let accepted = LoginOutcome::Accepted {
        user: "u".to_owned(),
        everything: Some(true),
    };
    assert_eq!(outcomes(&evidence), BTreeMap::from([("a", &accepted)]));
    let member = member(&evidence, "a");
    assert_eq!(member.access, "the plugin of access provider p");
    assert_eq!(member.samples.len(), 4);
    assert_eq!(issuer.runs(), [0, 60], "it is run when the last one has expired");
    let mut bearers: Vec<String> = fake.seen().into_iter().map(|(.., bearer)| bearer).collect();
    bearers.dedup();
    assert_eq!(bearers, ["CANARY-token-0", "CANARY-token-60"]);
    assert_no_canary(&evidence);
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_is_refused_later_is_renewed() {
    let world = World::new().await;
    world.provided("a", "https://a:6443").await;
    let issuer = Issuer::new(&world, |now| Ok((format!("CANARY-token-{now}"), 100_000)));
    let clock = world.clock;
    let accepting = Fake::accepting().answer;
    let fake = Fake::new(move |method, path| match seconds(clock.now()) {
        25..35 => (401, String::new()),
        _ => accepting(method, path),
    });
    let plan = plugged(110, Arc::clone(&issuer) as Arc<dyn Runner>, [("a", fake)]);
    let evidence = world.collect(&plan, async {}).await;
    assert_eq!(issuer.runs(), [0, 60]);
    let samples = &member(&evidence, "a").samples;
    let healthy: Vec<bool> = samples.iter().map(|sample| sample.version.is_some()).collect();
    assert_eq!(healthy, [true, false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn plugins_that_fail_are_run_again_in_the_end_and_with_the_profile_as_it_is_then() {
    let world = World::new().await;
    for name in ["early", "never"] {
        world.provided(name, &format!("https://{name}:6443")).await;
    }
    let issuer = Issuer::new(&world, |now| match now {
        ..30 => Err(Ran::Failed("ended with exit code 1".to_owned())),
        _ => Ok(("CANARY-token".to_owned(), 60)),
    });
    let refusing = Fake::but_for("/apis/auth", 401, "CANARY");
    let events = async {
        after(40).await;
        world.provided("late", "https://late:6443").await;
    };
    let (early, late) = (Fake::accepting(), Fake::accepting());
    let members = [("early", early), ("late", late), ("never", refusing)];
    let evidence = world.collect(&plugged(60, issuer, members), events).await;
    let outcomes: Vec<_> = outcomes(&evidence).into_iter().collect();
    let [("early", early), ("late", late), ("never", never)] = outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert!(matches!(early, LoginOutcome::Accepted { .. }), "{early:?}");
    assert!(matches!(late, LoginOutcome::Accepted { .. }), "{late:?}");
    assert!(
        matches!(never, LoginOutcome::Refused { code: 401, .. }),
        "{never:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_plugin_is_run_where_its_credential_could_not_be_sent() {
    let world = World::new().await;
    for (name, server) in [
        ("http", "http://a:6443"),
        ("user", "https://u:CANARY@a:6443"),
        ("none", ""),
    ] {
        world.provided(name, server).await;
    }
    world.profile("unchecked").await;
    let cluster = json!({"server": "https://a:6443", "insecure-skip-tls-verify": true});
    world.set_status("unchecked", status(cluster)).await;
    let issuer = Issuer::new(&world, |_| panic!("it is not to be run"));
    let evidence = world
        .collect(&plugged(0, issuer, [("a", Fake::accepting())]), async {})
        .await;
    let outcomes = outcomes(&evidence);
    assert_eq!(outcomes.len(), 4);
    for outcome in outcomes.values() {
        let LoginOutcome::Unanswered { reason } = outcome else {
            panic!("{outcome:?}")
        };
        assert!(
            reason.contains("credential") || reason.contains("user's name"),
            "{reason}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_tells_that_plugins_were_not_run() {
    let world = World::new().await;
    world.provided("a", "https://a:6443").await;
    let issuer = Issuer::new(&world, |_| Ok(("CANARY-token".to_owned(), 60)));
    let mut slow = Fake::accepting();
    slow.slow = Duration::from_secs(9);
    let evidence = world
        .collect_until(&plugged(60, issuer, [("a", slow)]), async {}, after(5))
        .await;
    let gap = gaps(&evidence, Kind::Plugins)[0];
    assert!(
        gap.reason.contains("not all credential plugins were run"),
        "{gap:?}"
    );
    assert!(evidence.logins.is_empty());
}
