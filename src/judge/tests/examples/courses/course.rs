//! Random histories of a small hub whose managers keep every rule. People and tools write to the profiles, too.

use std::{collections::BTreeMap, sync::LazyLock};

use evidence::api::{ClusterProfile, Edition, names};
use jiff::Timestamp;
use judge::rules::example::Example;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::faults::{VIOLATED, violation};

/// Times and spans, in microseconds of the runner's clock.
pub type Micros = i64;
pub const SECOND: Micros = 1_000_000;

/// How long a profile is conforming before its deletion: the grace period, and the delay of a watch at both ends.
const SETTLED: Micros = 141 * SECOND;

/// When all histories begin.
pub const BEGINS: Micros = 1_767_225_600 * SECOND;

/// What happens to one profile.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// The manager reports whether the control plane is healthy.
    Health(&'static str),
    /// The manager reports whether the member is joined.
    Joined(&'static str),
    Version,
    Property,
    /// The manager deletes the profile and re-creates it, so many seconds later.
    Remake(i64),
    /// Another client deletes it, and its manager re-creates it.
    DeletedBy(&'static str, i64),
    /// Another client labels it.
    LabelledBy(&'static str),
    /// A backup tool restores it: with labels and spec, without status.
    Restored,
    /// The manager violates a rule for some time, as in the rule's first failing example.
    Fault(&'static str, Micros),
}

/// One profile: its manager, when it was created and filled, and what happens after how long.
#[derive(Clone, Debug)]
pub struct Script {
    manager: &'static str,
    created: Micros,
    filled: Filled,
    acts: Vec<(Micros, Act, Filled)>,
}

/// When a status is filled after the creation: the conditions, and then the rest.
type Filled = (Micros, Micros);

/// The history of a hub.
#[derive(Clone, Debug)]
pub struct Course {
    /// The edition that the managers follow. Neither has all rules.
    pub edition: Edition,
    pub scripts: Vec<Script>,
}

/// A write, with its time and its client.
#[derive(Clone, Debug)]
pub struct Event {
    pub at: Micros,
    /// The profile, and which of its successive objects.
    pub slot: usize,
    pub life: usize,
    pub user: &'static str,
    pub verb: &'static str,
    pub subresource: &'static str,
    /// The profile afterwards, with `@<micros>` for timestamps; none if it was deleted.
    pub object: Option<Value>,
}

fn seconds(span: std::ops::Range<i64>) -> impl Strategy<Value = Micros> + Clone {
    (span.start * 1000..span.end * 1000).prop_map(|millis| millis * 1000)
}

pub fn span() -> impl Strategy<Value = Micros> + Clone {
    prop_oneof![seconds(0..5), seconds(0..40), seconds(90..150), seconds(0..400)]
}

fn act() -> impl Strategy<Value = Act> {
    let pause = select(vec![1_i64, 15, 60, 200]);
    prop_oneof![
        3 => select(vec!["True", "False", "Unknown"]).prop_map(Act::Health),
        2 => select(vec!["True", "False"]).prop_map(Act::Joined),
        2 => Just(Act::Version),
        2 => Just(Act::Property),
        1 => pause.clone().prop_map(Act::Remake),
        1 => (select(vec!["kubectl-edit", "sweeper"]), pause).prop_map(|(who, pause)| Act::DeletedBy(who, pause)),
        2 => select(vec!["kubectl-edit", "labeller"]).prop_map(Act::LabelledBy),
        1 => Just(Act::Restored),
    ]
}

fn filled() -> impl Strategy<Value = Filled> + Clone {
    (seconds(0..50), prop_oneof![Just(0), seconds(0..50)])
}

/// Histories in which every manager keeps every rule.
pub fn honest() -> impl Strategy<Value = Course> {
    let script = (
        prop::bool::weighted(0.8),
        seconds(-600..600),
        filled(),
        vec((span(), act(), filled()), 0..10),
    );
    let script = script.prop_map(|(is_judged, created, filled, acts)| Script {
        manager: if is_judged { "m" } else { "other" },
        created: BEGINS + created,
        filled,
        acts,
    });
    let edition = select(vec![Edition::Standard, Edition::Y2026M09]);
    (edition, vec(script, 1..4)).prop_map(|(edition, scripts)| Course { edition, scripts })
}

/// Histories in which the first manager violates one rule.
pub fn with_fault() -> impl Strategy<Value = (&'static str, Course)> {
    let fault = (
        span(),
        select(&VIOLATED[..]),
        seconds(150..700),
        any::<usize>(),
        filled(),
    );
    (honest(), fault).prop_map(|(mut course, (after, rule, long, place, filled))| {
        let script = &mut course.scripts[0];
        script.manager = "m";
        course.edition = violation(rule, timestamp(BEGINS)).edition;
        let place = place % (script.acts.len() + 1);
        script.acts.insert(place, (after, Act::Fault(rule, long), filled));
        (rule, course)
    })
}

/// A placeholder for a timestamp.
fn stamp(at: Micros) -> Value {
    format!("@{at}").into()
}

static CONFORMING: LazyLock<BTreeMap<(usize, &str), Value>> = LazyLock::new(|| {
    let all = (0..3).flat_map(|slot| ["m", "other"].map(|manager| (slot, manager)));
    all.map(|(slot, manager)| {
        let overlay = json!({"metadata": {"name": format!("{manager}-{slot}")},
            "spec": {"clusterManager": {"name": manager}}});
        let world = json!({"name": "conforming", "passes": [overlay]});
        let example = Example::parse(&world, Edition::Standard).expect("a world");
        let profile: &ClusterProfile = example.evidence().profiles[0].last();
        ((slot, manager), serde_json::to_value(profile).expect("a profile"))
    })
    .collect()
});

/// One profile while its script runs.
struct ScriptRun<'s> {
    script: &'s Script,
    slot: usize,
    life: usize,
    at: Micros,
    /// The manager's own bucket of status writes: how many were left, and when.
    tokens: (f64, Micros),
    turn: usize,
    /// When the profile was last complete after its creation.
    filled: Micros,
    json: Value,
    events: Vec<Event>,
    /// When faults began and ended, in turn.
    faults: Vec<Micros>,
}

impl Course {
    /// All writes, in order.
    pub fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self.runs().flat_map(|run| run.events).collect();
        events.sort_by_key(|event| event.at);
        events
    }

    /// When faults began and ended.
    pub fn faults(&self) -> Vec<(Micros, Micros)> {
        let faults = self.runs().flat_map(|run| run.faults).collect::<Vec<_>>();
        faults.chunks(2).map(|pair| (pair[0], pair[1])).collect()
    }

    fn runs(&self) -> impl Iterator<Item = ScriptRun<'_>> {
        let runs = self.scripts.iter().enumerate().map(|(slot, script)| ScriptRun {
            script,
            slot,
            life: 0,
            at: script.created,
            tokens: (8.0, script.created),
            turn: 0,
            filled: script.created,
            json: Value::Null,
            events: Vec::new(),
            faults: Vec::new(),
        });
        runs.map(ScriptRun::run)
    }
}

impl ScriptRun<'_> {
    fn run(mut self) -> Self {
        self.create(self.script.manager, self.script.filled);
        for (after, act, filled) in &self.script.acts {
            self.at += after.max(&1000);
            self.turn += 1;
            self.act(*act, *filled);
        }
        self
    }

    fn act(&mut self, act: Act, filled: Filled) {
        let manager = self.script.manager;
        match act {
            Act::Health(status) => self.condition(names::CONDITION_HEALTHY, status),
            Act::Joined(status) => self.condition(names::CONDITION_JOINED, status),
            Act::Version => {
                let version = format!("v1.34.{}", self.turn);
                self.write_status(json!({"version": {"kubernetes": version}}));
            }
            Act::Property => {
                let mut properties = self.json["status"]["properties"].clone();
                self.wait_for_token();
                properties[3]["value"] = (3 + self.turn).to_string().into();
                properties[3]["lastObservedTime"] = stamp(self.at);
                self.put_status(json!({"properties": properties}));
            }
            Act::Remake(pause) => self.remake(manager, manager, pause, filled),
            Act::DeletedBy(who, pause) => self.remake(who, manager, pause, filled),
            Act::LabelledBy(who) => {
                self.json["metadata"]["labels"]["team"] = format!("t{}", self.turn).into();
                self.wrote(who, "", &["metadata.labels[team]"]);
                self.record(who, "patch", "");
            }
            Act::Fault(rule, long) => self.fault(rule, long),
            Act::Restored => self.remake("velero-server", "velero-server", 1, filled),
        }
    }

    fn fault(&mut self, rule: &'static str, long: Micros) {
        let patch = violation(rule, timestamp(self.at)).profiles.remove(0).patch;
        let subresource = if patch.get("status").is_some() {
            "status"
        } else {
            ""
        };
        let manager = self.script.manager;
        let right = self.json.clone();
        for is_wrong in [true, false] {
            if subresource == "status" {
                self.wait_for_token();
            }
            if is_wrong {
                json_patch::merge(&mut self.json, &patch);
            } else {
                self.at += long;
                let writers = self.json["metadata"]["writers"].take();
                self.json = right.clone();
                self.json["metadata"]["writers"] = writers;
            }
            self.wrote(manager, subresource, &[]);
            self.record(manager, "patch", subresource);
            self.faults.push(self.at);
        }
    }

    fn condition(&mut self, kind: &str, status: &str) {
        let mut conditions = self.json["status"]["conditions"].clone();
        let all = conditions.as_array_mut().expect("conditions");
        let condition = all.iter_mut().find(|condition| condition["type"] == kind);
        let condition = condition.expect("the condition");
        if condition["status"] == status {
            return;
        }
        self.wait_for_token();
        condition["status"] = status.into();
        condition["reason"] = format!("Now{status}").into();
        condition["lastTransitionTime"] = stamp(self.at);
        self.put_status(json!({"conditions": conditions}));
    }

    fn remake(&mut self, deletes: &'static str, creates: &'static str, pause: i64, filled: Filled) {
        // Violations of successive objects add up, unless one of them was conforming for longer than the grace period.
        self.at = self.at.max(self.filled + SETTLED);
        self.events.push(Event {
            at: self.at,
            slot: self.slot,
            life: self.life,
            user: deletes,
            verb: "delete",
            subresource: "",
            object: None,
        });
        self.life += 1;
        self.at += pause * SECOND;
        self.create(creates, filled);
    }

    fn create(&mut self, creates: &'static str, (first, rest): Filled) {
        let manager = self.script.manager;
        self.json = CONFORMING[&(self.slot, manager)].clone();
        let status = self.json["status"].take();
        let metadata = &mut self.json["metadata"];
        metadata["uid"] = format!("uid-{}-{}", self.slot, self.life).into();
        metadata["creationTimestamp"] = stamp(self.at);
        metadata["writers"] = json!([]);
        let label = |key: &str| format!("metadata.labels[{key}]");
        let (manager_label, member_id) = (label(names::LABEL_MANAGER), label(names::LABEL_MEMBER_ID));
        let owns = [
            "metadata.generateName",
            &manager_label,
            &member_id,
            "spec.clusterManager",
            "spec.displayName",
        ];
        self.json["status"] = json!({});
        self.wrote(creates, "", &owns);
        self.record(creates, "create", "");
        self.tokens = (8.0, self.at);
        self.at += first + 1000;
        let now = stamp(self.at);
        let mut status = status;
        for condition in status["conditions"].as_array_mut().expect("conditions") {
            condition["lastTransitionTime"] = now.clone();
        }
        if rest > 0 {
            // The member joins when the rest is known.
            let mut early = status["conditions"].clone();
            for condition in early.as_array_mut().expect("conditions") {
                condition["status"] = "False".into();
                condition["reason"] = "Starting".into();
            }
            self.write_status(json!({"conditions": early}));
            self.at += rest;
            for condition in status["conditions"].as_array_mut().expect("conditions") {
                condition["lastTransitionTime"] = stamp(self.at);
            }
        }
        for property in status["properties"].as_array_mut().expect("properties") {
            property["lastObservedTime"] = stamp(self.at);
        }
        self.write_status(status);
        self.filled = self.at;
    }

    fn wait_for_token(&mut self) {
        let (left, since) = self.tokens;
        let refilled = (left + (self.at - since) as f64 / (31.0 * SECOND as f64)).min(8.0);
        if refilled < 1.0 {
            self.at += 31 * SECOND;
        }
        self.tokens = (refilled.max(1.0) - 1.0, self.at);
    }

    fn write_status(&mut self, patch: Value) {
        self.wait_for_token();
        self.put_status(patch);
    }

    fn put_status(&mut self, patch: Value) {
        json_patch::merge(&mut self.json["status"], &patch);
        let parts = patch.as_object().expect("a patch").keys();
        let parts: Vec<String> = parts.map(|part| format!("status.{part}")).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.wrote(self.script.manager, "status", &parts);
        self.record(self.script.manager, "patch", "status");
    }

    /// Updates the field manager's entry, and removes the fields from other entries.
    fn wrote(&mut self, manager: &str, subresource: &str, parts: &[&str]) {
        let now = stamp(self.at);
        let writers = self.json["metadata"]["writers"].as_array_mut().expect("writers");
        let is_own = |writer: &Value| {
            writer["manager"] == manager && writer["subresource"].as_str().unwrap_or_default() == subresource
        };
        // A fault is written with what the manager has already.
        let mut own: Vec<Value> = parts.iter().map(|part| (*part).into()).collect();
        for writer in &mut *writers {
            let is_own = is_own(writer);
            let owns = writer["owns"].as_array_mut().expect("parts");
            owns.retain(|part| !own.contains(part));
            if is_own {
                own.append(owns);
            }
        }
        writers.retain(|writer| !writer["owns"].as_array().is_some_and(Vec::is_empty));
        own.sort_by_key(Value::to_string);
        writers.push(
            json!({"manager": manager, "operation": "Update", "subresource": subresource,
            "time": now, "owns": own}),
        );
    }

    fn record(&mut self, user: &'static str, verb: &'static str, subresource: &'static str) {
        self.events.push(Event {
            at: self.at,
            slot: self.slot,
            life: self.life,
            user,
            verb,
            subresource,
            object: Some(self.json.clone()),
        });
    }
}

pub fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).expect("a time")
}
