//! Asking members, on fake members and on members that fail in every way, under the paused clock.

mod credentials;
mod endpoints;
mod failing;
mod loopback;
mod plugins;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use collect::{
    Dial, MemberAccess,
    connect::{ClientError, USER_AGENT},
};
use evidence::{
    Lease, Login, LoginCredential, LoginOutcome, Member, MemberPart, MemberSample, ObjectKey, Requested,
};
use http::Response;
use kube::{Config, client::Body};
use lab::member::{FakeMember, Leases, MemberProperty, MemberState};

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

pub(super) fn way(name: &str, client: Client) -> MemberAccess {
    MemberAccess::by_client(key(name), format!("test {name}"), client)
}

/// A way to a member of the lab, with the rights that the suite asks for.
fn lab_way(name: &str, member: &FakeMember) -> MemberAccess {
    way(name, member.client_as(FakeMember::ASKER, USER_AGENT))
}

impl World {
    /// Asks these members for that long.
    async fn ask(&self, seconds: u64, accesses: Vec<MemberAccess>) -> Evidence {
        self.collect(&asking(seconds, accesses), async {}).await
    }
}

/// A plan that asks these members.
pub(super) fn asking(seconds: u64, accesses: Vec<MemberAccess>) -> Plan {
    Plan {
        members: Members {
            access: accesses,
            ..Members::default()
        },
        ..plan(seconds)
    }
}

/// What is known of the member of that profile.
fn member<'a>(evidence: &'a Evidence, name: &str) -> &'a Member {
    let mut members = evidence.members.iter();
    members
        .find(|member| member.profile.name == name)
        .expect("the member was asked")
}

/// What the member lacks for a reason with these words.
fn missed<'a>(sample: &'a MemberSample, words: &str) -> Vec<&'a MemberPart> {
    let missing = sample.missing.iter().filter(|(_, reason)| reason.contains(words));
    missing.map(|(part, _)| part).collect()
}

fn state() -> MemberState {
    MemberState {
        version: "v1.33.1+k3s1".to_owned(),
        nodes: 7,
        custom_resource_groups: BTreeSet::from(["argoproj.io".to_owned(), "cert-manager.io".to_owned()]),
        cluster_properties: vec![
            MemberProperty::labelled("tier.example.com", "gold"),
            MemberProperty::unlabelled("owner.example.com", "me"),
        ],
        ..MemberState::default()
    }
}

/// What is answered to a method and a path: a status and a body.
type Answer = dyn Fn(&str, &str) -> (u16, String) + Send + Sync;

/// A member that answers as the function says, after a while.
#[derive(Clone)]
struct Fake {
    answer: Arc<Answer>,
    slow: Duration,
    /// Each request: method, path, and the bearer.
    seen: Arc<Mutex<Vec<(String, String, String)>>>,
    /// How many are under way, and the most that were at once.
    under_way: Arc<Mutex<(usize, usize)>>,
}

impl Fake {
    fn new(answer: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            slow: Duration::ZERO,
            seen: Arc::default(),
            under_way: Arc::default(),
        }
    }

    /// A healthy member.
    fn well() -> Self {
        Self::new(|_, path| well(path))
    }

    /// A healthy member that accepts each credential.
    fn accepting() -> Self {
        Self::new(|_, path| match path {
            _ if path.contains("selfsubject") => accepted(),
            _ => well(path),
        })
    }

    /// A healthy member whose answers take so long.
    fn slow(seconds: u64) -> Self {
        Self {
            slow: Duration::from_secs(seconds),
            ..Self::well()
        }
    }

    /// One that answers well, but for the paths that begin so.
    fn but_for(failing: &'static str, code: u16, body: &'static str) -> Self {
        Self::new(move |_, path| match path {
            _ if path.starts_with(failing) => (code, body.to_owned()),
            _ => well(path),
        })
    }

    fn client(&self) -> Client {
        self.client_as("")
    }

    fn client_as(&self, bearer: &str) -> Client {
        let (fake, bearer) = (self.clone(), bearer.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (fake, bearer) = (fake.clone(), bearer.clone());
            async move {
                {
                    let mut under_way = fake.under_way.lock().expect("no panic");
                    under_way.0 += 1;
                    under_way.1 = under_way.1.max(under_way.0);
                }
                let (method, path) = (request.method().to_string(), request.uri().to_string());
                sleep(fake.slow).await;
                let (code, body) = (fake.answer)(&method, &path);
                fake.seen.lock().expect("no panic").push((method, path, bearer));
                fake.under_way.lock().expect("no panic").0 -= 1;
                let response = Response::builder()
                    .status(code)
                    .header("location", "/CANARY-elsewhere");
                Ok::<_, std::io::Error>(response.body(Body::from(body.into_bytes())).expect("a response"))
            }
        });
        Client::new(service, "default")
    }

    fn seen(&self) -> Vec<(String, String, String)> {
        self.seen.lock().expect("no panic").clone()
    }
}

/// The answer to both self reviews of a user that may do everything.
fn accepted() -> (u16, String) {
    let status = json!({"userInfo": {"username": "u"}, "allowed": true});
    (201, json!({"status": status}).to_string())
}

/// What a healthy member answers.
fn well(path: &str) -> (u16, String) {
    let list = |items: Value| json!({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items});
    let answer = match path.split('?').next().unwrap_or_default() {
        "/readyz" => return (200, "ok".to_owned()),
        "/version" => json!({"gitVersion": "v1.34.0"}),
        "/api/v1/nodes" => list(json!([{"metadata": {"name": "n"}}])),
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" => list(json!([])),
        _ => return (404, String::new()),
    };
    (200, answer.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_member_is_asked_all_through_the_window() {
    let world = World::of(&["a"]).await;
    let fake_member = FakeMember::new("a", world.clock, state());
    let accesses = vec![lab_way("a", &fake_member)];
    let events = async {
        after(100).await;
        fake_member.alter(|member| {
            member.version = "v1.34.0".to_owned();
            member.failing_checks.insert("etcd".to_owned());
            member.leases = Leases::Stale;
            member.nodes = 2;
        });
    };
    let evidence = world.collect(&asking(290, accesses), events).await;
    assert!(evidence.gaps.is_empty(), "{:?}", evidence.gaps);
    assert_eq!(*evidence.requested(Kind::Members), Requested::Yes);
    let member = member(&evidence, "a");
    assert!(!member.profile.uid.is_empty() && member.access == "test a");
    let at: Vec<i64> = member.samples.iter().map(|sample| seconds(sample.from)).collect();
    assert_eq!(at, (0..10).map(|sample| sample * 30).collect::<Vec<_>>());

    let first = &member.samples[0];
    assert_eq!(first.version.as_deref(), Some("v1.33.1+k3s1"));
    assert!(first.readyz.as_ref().is_some_and(|readyz| readyz.ready));
    let leases = first.leases.as_ref().expect("leases");
    let names: Vec<&str> = leases.iter().map(|lease| lease.name.as_str()).collect();
    assert_eq!(names, ["kube-controller-manager", "kube-scheduler"]);
    let is_fresh = |lease: &Lease| lease.age_seconds <= 2 && lease.duration_seconds == 15;
    assert!(leases.iter().all(is_fresh), "{leases:?}");
    assert_eq!(first.nodes, Some(7));
    let groups = first.custom_resource_groups.as_ref().expect("groups");
    assert!(
        groups
            .iter()
            .eq(["about.k8s.io", "argoproj.io", "cert-manager.io"])
    );
    let properties = first.cluster_properties.as_ref().expect("properties");
    let found = properties
        .iter()
        .map(|one| (&*one.name, &*one.value, one.labelled));
    let expected = [
        ("owner.example.com", "me", false),
        ("tier.example.com", "gold", true),
    ];
    assert!(found.eq(expected), "{properties:?}");
    assert!(first.missing.is_empty(), "{:?}", first.missing);

    let later = &member.samples[4];
    assert_eq!(later.version.as_deref(), Some("v1.34.0"));
    assert_eq!(later.nodes, Some(2));
    let readyz = later.readyz.as_ref().expect("an answer");
    assert!(!readyz.ready && readyz.failed == ["etcd"], "{readyz:?}");
    assert!(later.leases.as_ref().expect("leases")[0].age_seconds >= 20);
    let unchanged = later.cluster_properties.as_ref().expect("properties");
    assert!(Arc::ptr_eq(properties, unchanged));
}

#[tokio::test(start_paused = true)]
async fn long_windows_are_looked_into_less_often_and_none_once() {
    let world = World::new().await;
    for (window, samples) in [(0, 1), (20, 1), (1190, 20)] {
        let fake = Fake::well();
        let evidence = world.ask(window, vec![way("a", fake.client())]).await;
        assert_eq!(member(&evidence, "a").samples.len(), samples, "in {window} s");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_are_counted_page_by_page_where_the_member_does_not_tell_the_rest() {
    let world = World::new().await;
    let page = |items: usize, metadata: Value| {
        let items = vec![json!({"metadata": {"name": "n"}}); items];
        (200, json!({"metadata": metadata, "items": items}).to_string())
    };
    let (_, first) = page(1, json!({"continue": "x y", "remainingItemCount": 41}));
    let counted = Fake::but_for("/api/v1/nodes", 200, first.leak());
    let uncounted = Fake::new(move |_, path| match path.strip_prefix("/api/v1/nodes?limit=") {
        Some("1") => page(1, json!({"continue": "x y"})),
        Some("500") => page(501, json!({"continue": "z"})),
        Some("500&continue=z") => page(3, json!({})),
        Some(other) => panic!("{other}"),
        None => well(path),
    });
    for (fake, nodes) in [(counted, 42), (uncounted, 504)] {
        let evidence = world.ask(0, vec![way("a", fake.client())]).await;
        assert_eq!(member(&evidence, "a").samples[0].nodes, Some(nodes));
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_members_are_asked_a_few_at_a_time() {
    let world = World::new().await;
    let mut fake = Fake::well();
    fake.slow = Duration::from_millis(50);
    let accesses = (0..1000)
        .map(|number| way(&format!("m{number}"), fake.client()))
        .collect();
    let evidence = world.ask(300, accesses).await;
    assert_eq!(evidence.members.len(), 1000);
    assert!(evidence.members.iter().all(|member| member.samples.len() >= 9));
    let (_, most) = *fake.under_way.lock().expect("no panic");
    assert!((2..=64).contains(&most), "{most} at once");
}

#[tokio::test(start_paused = true)]
async fn what_was_seen_before_a_stop_is_kept() {
    let world = World::of(&["a"]).await;
    let fake = Fake::well();
    let accesses = vec![way("a", fake.client()), way("b", Fake::slow(9).client())];
    let plan = asking(300, accesses);
    let evidence = world.collect_until(&plan, async {}, after(5)).await;
    assert_eq!(member(&evidence, "a").samples.len(), 1);
    let gap = gaps(&evidence, Kind::Members)[0];
    assert_eq!(gap.object.as_ref().map(|object| object.name.as_str()), Some("b"));
    assert!(gap.reason.contains("stopped"), "{}", gap.reason);
}

#[tokio::test(start_paused = true)]
async fn members_outside_of_the_scope_are_left_alone() {
    let world = World::new().await;
    let fake = Fake::well();
    let mut plan = asking(0, vec![way("a", fake.client())]);
    plan.scope.namespaces = vec!["kube-public".to_owned()];
    let evidence = world.collect(&plan, async {}).await;
    assert!(evidence.members.is_empty() && fake.seen().is_empty());
}
