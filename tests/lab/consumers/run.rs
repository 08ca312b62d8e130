//! Runs of the suite on the reference consumer, on the lab's hub.

use std::{sync::Arc, time::Duration};

use collect::{
    EvidenceRequest, Plan, Quiet,
    clock::Clock,
    collect,
    requests::{merge_into, read_audit_text},
    testbed::{Arrival, Calls, TestbedPlan},
};
use evidence::{
    Claim, Evidence, Scope,
    api::{Edition, names},
};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use lab::{
    consumer::{Consumer, Fault, Habits, hub_definitions},
    driver::ReferenceHooks,
    hub::{AuditLevel, Hub},
};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::lab::paused_runtime;

/// The run lasts as long as its scenarios.
const WINDOW: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct ConsumerRun<'a> {
    pub habits: Habits,
    pub faults: &'a [&'a str],
    pub stop_after: Option<Duration>,
    pub condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    None,
    /// The consumer starts after this time. It has no hooks.
    StartsAfter(Duration),
    /// The consumer exits after this time. It has no hooks.
    ExitsAfter(Duration),
    /// The consumer's user lists profiles each second.
    ListsProfiles,
    /// Other clients open connections to the members, and close them at once.
    OtherClientsConnect,
}

impl Default for ConsumerRun<'_> {
    fn default() -> Self {
        Self {
            habits: Habits::default(),
            faults: &[],
            stop_after: None,
            condition: Condition::None,
        }
    }
}

impl ConsumerRun<'_> {
    /// The evidence of the run. It leaves nothing on the hub.
    pub fn observe(&self) -> Evidence {
        self.observe_with_log().0
    }

    /// The evidence, and the lines of the consumer's log.
    pub fn observe_with_log(&self) -> (Evidence, Vec<String>) {
        paused_runtime().block_on(self.run())
    }

    async fn run(&self) -> (Evidence, Vec<String>) {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions()).await.expect("a hub");
        let lab = hub.as_lab().expect("the lab");
        lab.set_audit_level(AuditLevel::RequestResponse);
        let client = hub.client_as(Consumer::NAME, Consumer::NAME).expect("a client");
        let faults = self.faults.iter().map(|id| Fault::parse(id).expect("a fault"));
        let consumer = Consumer::with_habits(self.habits.clone(), faults.collect(), clock);
        let admin = hub.admin(Consumer::NAME).expect("a client");
        consumer.set_up(&admin).await.expect("namespaces");
        let testbed = self.testbed(&consumer);
        let (calls, log) = (Arc::clone(&testbed.calls), testbed.log.clone().expect("a log"));
        let plan = self.plan(testbed);
        let stop = CancellationToken::new();
        let mut evidence = tokio::select! {
            collected = collect(&hub.connection, &plan, clock, &Quiet, stop.clone()) => collected.expect("evidence"),
            () = self.run_consumer(consumer, client.clone()) => unreachable!("it does not return"),
            () = stop_after(&stop, self.stop_after) => unreachable!("it does not return"),
            () = self.disturb(&client, &calls) => unreachable!("it does not return"),
        };
        for kind in [names::KIND, names::PLACEMENT_KIND] {
            assert_eq!(left(&client, kind).await, Vec::<String>::new());
        }
        let audit_log = read_audit_text("the audit log", lab.audit_log().as_bytes()).expect("an audit log");
        merge_into(&mut evidence, audit_log);
        let mut lines = Vec::new();
        let read = log(&mut |line| lines.push(String::from_utf8_lossy(line).into_owned()));
        read.expect("it is in memory");
        (evidence, lines)
    }

    fn testbed(&self, consumer: &Consumer) -> TestbedPlan {
        let mut testbed = consumer.testbed();
        use Condition::{ExitsAfter, StartsAfter};
        if matches!(self.condition, StartsAfter(_) | ExitsAfter(_)) {
            testbed.hooks = Arc::new(ReferenceHooks::new([], Clock::system()));
        }
        testbed
    }

    fn plan(&self, testbed: TestbedPlan) -> Plan {
        Plan {
            claim: Claim {
                edition: Edition::Consumer2026M09,
                ..Claim::default()
            },
            scope: Scope {
                namespaces: testbed.namespaces(),
                ..Scope::default()
            },
            secrets: EvidenceRequest::No("not wanted".into()),
            probe: EvidenceRequest::No("not wanted".into()),
            testbed: Some(testbed),
            ..Plan::watching(WINDOW)
        }
    }

    /// Runs the consumer with what the condition allows. Does not return.
    async fn run_consumer(&self, consumer: Consumer, client: kube::Client) {
        if let Condition::StartsAfter(start) = self.condition {
            sleep(start).await;
        }
        let running = consumer.run(client);
        match self.condition {
            Condition::ExitsAfter(time) => _ = timeout(time, running).await,
            _ => panic!("the consumer failed: {:?}", running.await),
        }
        std::future::pending().await
    }

    /// Brings the condition about. Does not return.
    async fn disturb(&self, client: &kube::Client, calls: &Calls) {
        loop {
            match self.condition {
                Condition::ListsProfiles => {
                    left(client, names::KIND).await;
                    sleep(Duration::from_secs(1)).await;
                }
                Condition::OtherClientsConnect => {
                    for address in calls.addresses() {
                        let arrival = Arrival {
                            url: &address.url,
                            ..Arrival::default()
                        };
                        calls.failed(arrival, "unexpected end of file");
                    }
                    sleep(Duration::from_secs(5)).await;
                }
                _ => std::future::pending().await,
            }
        }
    }
}

/// Stops the run after that time. Does not return.
async fn stop_after(stop: &CancellationToken, after: Option<Duration>) {
    if let Some(after) = after {
        sleep(after).await;
        stop.cancel();
    }
    std::future::pending().await
}

async fn left(client: &kube::Client, kind: &str) -> Vec<String> {
    let kind = GroupVersionKind::gvk(names::GROUP, "v1alpha1", kind);
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let objects = objects.list(&ListParams::default()).await.expect("a list");
    let names = objects.into_iter().filter_map(|object| object.metadata.name);
    names.collect()
}
