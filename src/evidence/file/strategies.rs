//! Random evidence, generated from the JSON Schema of its type and then made valid.

use std::fmt::Debug;

use jiff::Timestamp;
use proptest::{prelude::*, test_runner::TestRng};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::*;

/// Texts that a careless format would corrupt. They are few, so that parts often agree.
const TEXTS: [&str; 9] = [
    "",
    "a",
    "b",
    "null",
    "7",
    "two words",
    "\"quoted\"\n---\n",
    "ünïcode \u{2028}",
    "\\",
];

fn any_of<T: JsonSchema + DeserializeOwned + Debug>() -> impl Strategy<Value = T> {
    let root = json_schema::of_input::<T>().to_value();
    Just(()).prop_perturb(move |(), rng| {
        let value = Generator { root: &root, rng }.value("", &root);
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error} in {value:#}"))
    })
}

struct Generator<'s> {
    root: &'s Value,
    rng: TestRng,
}

impl<'s> Generator<'s> {
    fn below(&mut self, bound: usize) -> usize {
        self.rng.next_u64() as usize % bound
    }

    fn one_of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }

    fn text(&mut self) -> String {
        (*self.one_of(&TEXTS)).to_owned()
    }

    /// The key of a map. A schema does not say that the keys of some are the names of an enum.
    fn key(&mut self, map: &str) -> String {
        match map {
            "requested" => self.one_of(&Kind::ALL).name().to_owned(),
            "unavailableActions" => self.one_of(&DriverAction::ALL).name().to_owned(),
            "missing" => "version".to_owned(),
            _ => self.text(),
        }
    }

    /// A value that the schema allows, for the field of that name.
    fn value(&mut self, name: &str, schema: &'s Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let definition = self.root.pointer(&reference[1..]).expect("a definition");
            return self.value(name, definition);
        }
        let choices = schema.get("oneOf").or(schema.get("anyOf"));
        if let Some(Value::Array(choices)) = choices {
            let choice = self.one_of(choices);
            return self.value(name, choice);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return self.one_of(values).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.one_of(kinds),
            kind => kind,
        };
        match kind.as_str() {
            Some("null") => Value::Null,
            Some("boolean") => (self.below(2) == 1).into(),
            Some("integer") => self.integer(schema),
            Some("string") => self.string(schema),
            Some("array") => {
                let count = self.below(3);
                (0..count).map(|_| self.value("", &schema["items"])).collect()
            }
            Some("object") => self.object(name, schema),
            None => self
                .one_of(&[json!(null), json!({"a": [1, -2, true, null]}), json!([])])
                .clone(),
            Some(other) => panic!("{other}"),
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        match schema["format"].as_str() {
            Some("uint16") => (self.rng.next_u32() as u16).into(),
            Some("int64") => (self.rng.next_u64() as i64).into(),
            _ => self.rng.next_u64().into(),
        }
    }

    fn string(&mut self, schema: &Value) -> Value {
        if schema["format"] == "date-time" {
            // Until a time that a run may see.
            let second = (self.rng.next_u64() % 66_000_000_000) as i64 - 62_000_000_000;
            let time = Timestamp::new(second, (self.rng.next_u32() % 1_000_000_000) as i32);
            return time.expect("in range").to_string().into();
        }
        if schema.get("pattern").is_some() {
            return "real".into();
        }
        self.text().into()
    }

    fn object(&mut self, name: &str, schema: &'s Value) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array();
        for (key, part) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
            if is_required || self.below(2) == 1 {
                object.insert(key.clone(), self.value(key, part));
            }
        }
        if let Some(part @ Value::Object(_)) = schema.get("additionalProperties") {
            for _ in 0..self.below(3) {
                object.insert(self.key(name), self.value("", part));
            }
        }
        object.into()
    }
}

/// Evidence with anything that a file can hold.
pub(super) fn evidence() -> impl Strategy<Value = Evidence> {
    any_of::<Evidence>().prop_map(valid)
}

/// Makes evidence valid for a run or a dump.
fn valid(mut evidence: Evidence) -> Evidence {
    let header = &mut evidence.header;
    header.format = FORMAT.to_owned();
    header.window = header.window.map(ordered);
    let settled = header.settled.zip(header.window);
    header.settled = settled.map(|(settled, window)| Settled {
        until: window.until,
        ..settled
    });
    made_valid(&mut evidence.profiles);
    made_valid(&mut evidence.slices);
    made_valid(&mut evidence.later.profiles);
    made_valid(&mut evidence.later.slices);
    evidence.later.sort();
    // Each uid occurs once.
    for (number, history) in evidence.profiles.iter_mut().enumerate() {
        for version in &mut history.versions {
            version.object.metadata.uid = format!("profile-{number}").into();
        }
    }
    for (number, history) in evidence.slices.iter_mut().enumerate() {
        for version in &mut history.versions {
            version.object.metadata.common.uid = format!("slice-{number}").into();
        }
    }
    if evidence.header.window.is_none() {
        without_times(&mut evidence.profiles);
        without_times(&mut evidence.slices);
        evidence.later = Later::default();
    }
    let windows = [
        evidence.requests.as_mut().map(|log| &mut log.covers),
        evidence.slice_requests.as_mut().map(|log| &mut log.covers),
        evidence.member_calls.as_mut().map(|log| &mut log.covers),
        evidence.plugin_calls.as_mut().map(|log| &mut log.covers),
    ];
    for covers in windows.into_iter().flatten() {
        *covers = ordered(*covers);
    }
    let suite = "clusterprofile-conformance/0.1";
    // On a testbed the run acts as the manager: its requests stay with those of other clients.
    if evidence.testbed.is_some() {
        evidence.own_requests.clear();
        evidence.own_slice_requests.clear();
        let requests = evidence.requests.iter_mut().flat_map(|log| &mut log.events);
        requests.for_each(|request| request.user_agent = suite.into());
    }
    let requests = evidence.own_requests.iter_mut();
    let requests = requests.chain(&mut evidence.own_slice_requests);
    requests.for_each(|request| request.user_agent = suite.into());
    evidence
}

fn ordered(window: Window) -> Window {
    Window {
        from: window.from.min(window.until),
        until: window.from.max(window.until),
    }
}

fn made_valid<T>(histories: &mut Vec<History<T>>) {
    histories.retain(|history| !history.versions.is_empty());
    for history in histories {
        for version in &mut history.versions {
            version.at.get_or_insert(Timestamp::UNIX_EPOCH);
        }
        if history.deleted.is_none() {
            history.deleted_version = None;
        }
    }
}

/// A dump has each object once, without a time.
fn without_times<T>(histories: &mut [History<T>]) {
    for history in histories {
        history.versions.truncate(1);
        history.versions[0].at = None;
        history.deleted = None;
        history.deleted_version = None;
    }
}
