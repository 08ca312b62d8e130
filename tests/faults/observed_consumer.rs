//! What a run of the suite sees of the reference consumer on the lab's hub.

use std::time::Duration;

use collect::{
    Plan, Quiet, Wish,
    clock::Clock,
    collect,
    requests::{merge_into, read_audit_text},
};
use evidence::{
    Claim, Evidence, Scope,
    api::{Edition, names},
};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use lab::{
    consumer::{Consumer, Fault, Habits, hub_definitions},
    hub::{AuditLevel, Hub},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::paused::paused;

/// How long the run looks at least. A testbed takes as long as its scenes.
const WINDOW: Duration = Duration::from_secs(10);

/// Evidence of a consumer with these habits and faults, by an edition.
pub fn observe(edition: Edition, habits: &Habits, faults: &[&str]) -> Evidence {
    observe_until(edition, habits, faults, None)
}

/// The same of a run that is stopped after that time. Nothing of it is left on the hub.
pub fn observe_until(edition: Edition, habits: &Habits, faults: &[&str], cut: Option<Duration>) -> Evidence {
    play(edition, habits, faults, cut).0
}

/// The same of a whole run, and the lines that the consumer has logged.
pub fn observe_with_log(edition: Edition, habits: &Habits, faults: &[&str]) -> (Evidence, Vec<String>) {
    play(edition, habits, faults, None)
}

fn play(
    edition: Edition,
    habits: &Habits,
    faults: &[&str],
    cut: Option<Duration>,
) -> (Evidence, Vec<String>) {
    let faults: Vec<Fault> = faults
        .iter()
        .map(|id| Fault::parse(id).expect("a fault"))
        .collect();
    paused(async {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions()).await.expect("a hub");
        let lab = hub.as_lab().expect("the lab");
        lab.set_audit_level(AuditLevel::RequestResponse);
        let client = hub.client_as(Consumer::NAME, Consumer::NAME).expect("a client");
        let consumer = Consumer::with_habits(habits.clone(), faults, clock);
        let admin = hub.admin(Consumer::NAME).expect("a client");
        consumer.set_up(&admin).await.expect("a namespace");
        let testbed = consumer.testbed();
        let written = testbed.log.clone().expect("a log");
        let plan = Plan {
            claim: Claim {
                edition,
                ..Claim::default()
            },
            scope: Scope {
                namespaces: testbed.namespaces(),
                ..Scope::default()
            },
            secrets: Wish::No("not wanted".into()),
            probe: Wish::No("not wanted".into()),
            testbed: Some(testbed),
            ..Plan::watching(WINDOW)
        };
        let stop = CancellationToken::new();
        let mut evidence = tokio::select! {
            seen = collect(&hub.connection, &plan, clock, &Quiet, stop.clone()) => seen.expect("evidence"),
            ended = consumer.run(client.clone()) => panic!("the consumer ended: {ended:?}"),
            () = stopped(&stop, cut) => unreachable!("it goes on"),
        };
        for kind in [names::KIND, names::PLACEMENT_KIND] {
            assert_eq!(left(&client, kind).await, Vec::<String>::new());
        }
        let log = read_audit_text("the audit log", lab.audit_log().as_bytes()).expect("an audit log");
        merge_into(&mut evidence, log);
        let mut lines = Vec::new();
        let read = written.read(&mut |line| lines.push(String::from_utf8_lossy(line).into_owned()));
        read.expect("it is in memory");
        (evidence, lines)
    })
}

/// Stops the run after that time, and never ends.
async fn stopped(stop: &CancellationToken, after: Option<Duration>) {
    if let Some(after) = after {
        sleep(after).await;
        stop.cancel();
    }
    std::future::pending().await
}

/// The names of a kind's objects on the hub.
async fn left(client: &kube::Client, kind: &str) -> Vec<String> {
    let kind = GroupVersionKind::gvk(names::GROUP, "v1alpha1", kind);
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let objects = objects.list(&ListParams::default()).await.expect("a list");
    objects
        .into_iter()
        .filter_map(|object| object.metadata.name)
        .collect()
}
