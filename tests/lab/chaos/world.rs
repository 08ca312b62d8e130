//! A small world to misbehave in: a hub, a manager that conforms or does not, and a run that judges it.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::Misbehaviour;
use collect::{Plan, Quiet, clock::Clock, collect, connect::Connection};
use evidence::{Evidence, file};
use futures::future::pending;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use judge::{Decision, Selection, Verdict, judge};
use kube::Client;
use lab::hub::Hub;
use report::Report;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    fault::{Act, Event, Fault},
    proxy::{self, Traffic},
};
use crate::{command, lab::paused_runtime};

/// A secret that hubs repeat in their answers.
pub const CANARY: &str = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJDQU5BUlkifQ.CANARYCANARYCANARY";
const START: &str = "2026-11-20T10:00:00Z";
const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";
const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterprofiles.multicluster.x-k8s.io";
const MANAGER: &str = "m";

const AGE: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    Conforming,
    /// One profile contains a bearer token. That has no grace period, so a run of a second finds it.
    Leaking,
    /// A condition's transition time moves though the condition does not, and a profile is written to each second.
    Restless,
}

impl Manager {
    pub const ALL: [Manager; 3] = [Manager::Conforming, Manager::Leaking, Manager::Restless];
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The exit code that the binary would end with.
    pub exit: i32,
    /// Each rule and its verdict; empty where nothing was seen.
    pub verdicts: Vec<(&'static str, Verdict)>,
    /// Seconds of simulated time.
    pub took: u64,
    pub requests: Vec<String>,
    /// What the report says of the requests.
    pub reported_requests: Option<u64>,
    pub outputs: String,
}

impl Outcome {
    /// Judges the evidence, and writes what a run leaves, in the formats that hold everything.
    fn judge(&mut self, evidence: &Evidence) {
        let selection = Selection::default();
        let judgement = judge(evidence, &selection);
        self.exit = match judgement.decision {
            Decision::Inconclusive => 3,
            _ if judgement.partial => 3,
            Decision::Conformant | Decision::NoViolation => 0,
            Decision::NotConformant => 1,
        };
        let verdicts = judgement.verdicts.iter();
        self.verdicts = verdicts.map(|each| (each.rule.id, each.verdict)).collect();
        let report = Report::new(evidence, &judgement, &selection, Timestamp::UNIX_EPOCH);
        let mut bytes = Vec::new();
        report::json::write(&report, &mut bytes).expect("JSON");
        file::write_named(evidence, Path::new("record"), &mut bytes).expect("evidence");
        let printed = report::terminal::verdicts(&report, report::COMMAND, None, true);
        self.outputs = format!("{}{printed}", String::from_utf8_lossy(&bytes));
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|(_, each)| *each == verdict).count()
    }
}

pub struct World {
    pub hub: Hub,
    admin: Client,
    manager: Manager,
    pub clock: Clock,
}

/// Runs the suite for so many seconds on a hub with these faults.
pub fn run(manager: Manager, observe: u64, faults: &[Fault]) -> Outcome {
    paused_runtime().block_on(async {
        let world = World::new(manager).await;
        let (client, traffic) = world.proxied(faults);
        let hub = Connection::new(client, "lab");
        let observe = Duration::from_secs(observe);
        world.observe(&hub, observe, faults, &traffic).await
    })
}

impl World {
    pub async fn new(manager: Manager) -> Self {
        let clock = Clock::starting_at(START.parse().expect("a time"));
        let hub = Hub::lab(clock).await.expect("a hub");
        let admin = hub.as_lab().expect("the lab").client(MANAGER_USER);
        set_up(&admin, manager).await;
        // Rules have a grace period for new profiles.
        sleep(AGE).await;
        World {
            hub,
            admin,
            manager,
            clock,
        }
    }

    /// A client for the hub with these faults, and what it is asked.
    pub fn proxied(&self, faults: &[Fault]) -> (Client, Arc<Mutex<Traffic>>) {
        let (direct, clock) = (self.hub.connection.client.clone(), self.clock);
        proxy::client(direct, faults, move || clock.now())
    }

    pub async fn observe(
        &self,
        hub: &Connection,
        observe: Duration,
        faults: &[Fault],
        traffic: &Mutex<Traffic>,
    ) -> Outcome {
        let began = Instant::now();
        let (plan, stop) = (Plan::watching(observe), CancellationToken::new());
        let collecting = collect(hub, &plan, self.clock, &Quiet, stop);
        let collected = tokio::select! {
            biased;
            collected = collecting => collected,
            () = live(&self.admin, self.manager, self.clock) => unreachable!("it lives on"),
            () = self.events(faults) => unreachable!("it lives on"),
            () = sleep(Duration::from_secs(10_000)) => panic!("the run does not end"),
        };
        let took = began.elapsed().as_secs();
        let requests = std::mem::take(&mut traffic.lock().expect("a lock").requests);
        let mut outcome = Outcome {
            took,
            requests,
            ..Outcome::default()
        };
        match collected {
            Ok(evidence) => {
                outcome.reported_requests = evidence.header.traffic.map(|traffic| traffic.requests);
                outcome.judge(&evidence);
            }
            Err(error) => (outcome.exit, outcome.outputs) = (4, error.to_string()),
        }
        outcome
    }

    /// Brings about the events of these faults. Never ends.
    async fn events(&self, faults: &[Fault]) {
        for fault in faults {
            if let Act::Happens(event) = fault.act {
                sleep(Duration::from_secs(fault.from.into())).await;
                self.happen(event).await;
            }
        }
        pending().await
    }

    async fn happen(&self, event: Event) {
        let lab = self.hub.as_lab().expect("the lab");
        let definition = crate::send::send(&self.admin, Method::GET, DEFINITION, None).await;
        let mut definition = definition.expect("the CRD is there");
        for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
            let column = json!({"name": "New", "type": "string", "jsonPath": ".spec.displayName"});
            match event {
                Event::DeletesDefinition => {}
                Event::WithdrawsVersion => version["served"] = json!(false),
                Event::AddsColumn => version["additionalPrinterColumns"] = json!([column]),
                Event::LosesStatus => version["subresources"] = json!({}),
            }
        }
        if event == Event::DeletesDefinition {
            send(&self.admin, Method::DELETE, PROFILES, None).await;
            lab.undefine("clusterprofiles.multicluster.x-k8s.io");
        } else {
            lab.define(definition);
        }
        // Watches of a changed definition end.
        lab.misbehave(Misbehaviour::DropWatches);
    }
}

const MANAGER_USER: &str = "reference-manager";

pub fn profile(name: &str) -> Value {
    let mut profile = command::profile("default", name, MANAGER);
    profile["metadata"]["labels"]["x-k8s.io/cluster-member-id"] = name.into();
    profile
}

fn status(version: &str, moved: Timestamp, healthy: bool, now: Timestamp) -> Value {
    let condition = |kind: &str, is_true: bool, moved: &str| {
        json!({"type": kind, "status": if is_true { "True" } else { "False" }, "reason": "AsExpected",
            "message": "", "lastTransitionTime": moved, "observedGeneration": 1})
    };
    let [moved, now] = [moved, now].map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    json!({"status": {
        "version": {"kubernetes": version},
        "properties": [{"name": "cluster-endpoints.k8s.io", "value": "[\"https://member.example\"]",
            "lastObservedTime": now}],
        "conditions": [condition("Joined", true, START), condition("ControlPlaneHealthy", healthy, &moved)],
    }})
}

async fn set_up(client: &Client, manager: Manager) {
    let start: Timestamp = START.parse().expect("a time");
    for name in ["a", "b", "c"] {
        let mut object = profile(name);
        if name == "c" && manager == Manager::Leaking {
            object["spec"]["displayName"] = json!("Bearer 0123456789abcdef0123456789");
        }
        send(client, Method::POST, PROFILES, Some(object)).await;
        report(client, name, status("v1.34.1", start, true, start)).await;
    }
}

/// What a manager does on the hub. Never ends.
async fn live(client: &Client, manager: Manager, clock: Clock) {
    let start: Timestamp = START.parse().expect("a time");
    let began = Instant::now();
    for second in 1_u64.. {
        tokio::time::sleep_until(began + Duration::from_secs(second)).await;
        let now = clock.now();
        match second {
            2 => report(client, "a", status("v1.34.2", start, true, now)).await,
            12 => report(client, "a", status("v1.34.3", start, true, now)).await,
            25 => {
                send(client, Method::POST, PROFILES, Some(profile("d"))).await;
                report(client, "d", status("v1.34.1", now, true, now)).await;
            }
            40 => report(client, "b", status("v1.34.1", now, false, now)).await,
            55 => {
                send(client, Method::DELETE, &format!("{PROFILES}/d"), None).await;
            }
            70 => report(client, "b", status("v1.34.1", now, true, now)).await,
            90 => {
                let healed = now - SignedDuration::from_secs(20);
                for (name, moved) in [("a", start), ("b", healed), ("c", start)] {
                    report(client, name, status("v1.35.0", moved, true, now)).await;
                }
            }
            _ => {}
        }
        if manager == Manager::Restless && second < 80 {
            let version = format!("v1.34.{second}");
            report(client, "c", status(&version, now, true, now)).await;
        }
    }
}

async fn report(client: &Client, name: &str, status: Value) {
    let path = format!("{PROFILES}/{name}/status");
    send(client, Method::PATCH, &path, Some(status)).await;
}

/// Sends a request of the manager, which may fail only if its API is gone.
async fn send(client: &Client, method: Method, path: &str, body: Option<Value>) {
    match crate::send::send(client, method, path, body).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => panic!("the manager is not served: {error}"),
    }
}
