//! Random sequences of requests: few objects, several writers, every way to write.
//!
//! Each run plays the same sequences; a number in `FIDELITY_SEED` picks others. A failing sequence is shrunk, and its
//! seed is kept in `fixtures/fidelity/random.seeds` and played first from then on.

use std::{cell::Cell, fmt};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{Config, FileFailurePersistence, RngSeed, TestError, TestRunner},
};
use serde_json::{Map, Value, json};

use super::script::Script;

/// The name of the trial, and the prefix of its scripts' names.
pub const RANDOM: &str = "random";
/// How many sequences, and how many writes in each.
const SEQUENCES: u32 = 20;
const WRITES: std::ops::Range<usize> = 1..40;
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fidelity/random.seeds");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Shape,
    /// The same objects, in the other version.
    Shape2,
    ConfigMap,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Create,
    Update,
    Merge,
    Json,
    /// For kinds that support it; a merge patch for others.
    Strategic,
    Apply,
    ForcedApply,
    Delete,
}

#[derive(Clone)]
struct Write {
    writer: &'static str,
    kind: Kind,
    name: &'static str,
    way: Way,
    to_status: bool,
    is_dry: bool,
    /// The object, without type and name.
    object: Value,
    operations: Value,
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_patch = self.way == Way::Json;
        let written = if is_patch { &self.operations } else { &self.object };
        let (name, status) = (self.name(), self.status());
        let dry = if self.is_dry { " (dry)" } else { "" };
        write!(f, "\n  {name}{status}{dry} {written}")
    }
}

impl Write {
    /// The path of the kind's objects, its API version, and its name.
    fn api(&self) -> (&'static str, &'static str, &'static str) {
        match self.kind {
            Kind::Shape => (
                "apis/shapes.fidelity.example/v1",
                "shapes.fidelity.example/v1",
                "Shape",
            ),
            Kind::Shape2 => (
                "apis/shapes.fidelity.example/v2",
                "shapes.fidelity.example/v2",
                "Shape",
            ),
            Kind::ConfigMap => ("api/v1", "v1", "ConfigMap"),
        }
    }

    fn name(&self) -> String {
        format!("{}: {:?} {:?} {}", self.writer, self.way, self.kind, self.name)
    }

    fn status(&self) -> &'static str {
        let has_status = self.kind != Kind::ConfigMap;
        if self.to_status && has_status {
            "/status"
        } else {
            ""
        }
    }

    fn whole(&self) -> Value {
        let mut object = self.object.clone();
        let (_, version, kind) = self.api();
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        object["metadata"]["name"] = self.name.into();
        object
    }

    /// The requests of this write, the `n`th of its sequence.
    fn steps(&self, n: usize) -> Vec<Value> {
        let (api, _, kind) = self.api();
        let all = format!("/{api}/namespaces/${{ns}}/{}s", kind.to_lowercase());
        let (name, status) = (self.name, self.status());
        let one = format!("{all}/{name}{status}");
        let dry = if self.is_dry { "&dryRun=All" } else { "" };
        let query = format!("fieldManager={}{dry}", self.writer);
        let patch = |kind: &str, query: &str, body: &Value| json!({"request": format!("PATCH {one}?{query}"), "contentType": format!("application/{kind}"), "body": body});
        let merge = "merge-patch+json";
        let mut steps = match self.way {
            Way::Create => vec![json!({"request": format!("POST {all}?{query}"), "body": self.whole()})],
            Way::Update => {
                let version = format!("version{n}");
                let mut object = self.whole();
                object["metadata"]["resourceVersion"] = format!("${{{version}}}").into();
                vec![
                    json!({"request": format!("GET {all}/{name}"), "save": {version: "/metadata/resourceVersion"}}),
                    json!({"request": format!("PUT {one}?{query}"), "body": object}),
                ]
            }
            Way::Strategic if self.kind == Kind::ConfigMap => {
                vec![patch("strategic-merge-patch+json", &query, &self.object)]
            }
            Way::Merge | Way::Strategic => vec![patch(merge, &query, &self.object)],
            Way::Json => vec![patch("json-patch+json", &query, &self.operations)],
            Way::Apply => vec![patch("apply-patch+yaml", &query, &self.whole())],
            Way::ForcedApply => {
                let query = format!("{query}&force=true");
                vec![patch("apply-patch+yaml", &query, &self.whole())]
            }
            Way::Delete => vec![json!({"request": format!("DELETE {all}/{name}")})],
        };
        for (i, step) in steps.iter_mut().enumerate() {
            step["name"] = format!("{n}.{i}: {}{status}", self.name()).into();
            // Any code.
            step["expect"] = 0.into();
        }
        steps
    }
}

/// Plays the sequences with `compare`, which returns the differences.
pub fn play_random(compare: impl Fn(&Script) -> Vec<String>) -> Result<(), String> {
    let seed = std::env::var("FIDELITY_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok());
    let mut runner = TestRunner::new(Config {
        cases: SEQUENCES,
        max_shrink_iters: 150,
        rng_seed: RngSeed::Fixed(seed.unwrap_or(4322)),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(SEEDS))),
        ..Config::default()
    });
    let count = Cell::new(0);
    let outcome = runner.run(&vec(write(), WRITES), |writes| {
        count.set(count.get() + 1);
        let steps = writes.iter().enumerate().flat_map(|(n, write)| write.steps(n));
        let steps: Vec<Value> = steps.collect();
        let script = Script::made(&format!("{RANDOM}-{}", count.get()), steps);
        let complaints = compare(&script);
        prop_assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        Ok(())
    });
    outcome.map_err(|error| match error {
        TestError::Fail(why, writes) => format!("the hubs differ after {writes:?}\n{why}"),
        TestError::Abort(why) => why.to_string(),
    })
}

fn write() -> impl Strategy<Value = Write> {
    let ways = [
        (3, Way::Create),
        (2, Way::Update),
        (3, Way::Merge),
        (2, Way::Json),
        (2, Way::Strategic),
        (8, Way::Apply),
        (4, Way::ForcedApply),
        (1, Way::Delete),
    ];
    let ways = ways.map(|(weight, way)| (weight, Just(way).boxed()));
    let ways = proptest::strategy::Union::new_weighted(ways.into());
    let kinds = prop_oneof![3 => Just(Kind::Shape), 1 => Just(Kind::Shape2), 1 => Just(Kind::ConfigMap)];
    let who = (select(vec!["one", "two", "three"]), kinds, select(vec!["a", "b"]));
    let how = (ways, prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    (who, how, spec(), metadata(), status(), operations()).prop_map(
        |((writer, kind, name), (way, to_status, is_dry), spec, metadata, status, operations)| {
            let of_shape = kind != Kind::ConfigMap;
            let data = data(&spec);
            let mut object = json!({"metadata": metadata});
            if of_shape {
                object["spec"] = spec;
                object["status"] = status;
            } else {
                object["data"] = data.clone()
            }
            let operations = if of_shape {
                operations
            } else {
                json!([{"op": "add", "path": "/data", "value": data}])
            };
            Write {
                writer,
                kind,
                name,
                way,
                to_status,
                is_dry,
                object,
                operations,
            }
        },
    )
}

/// Values of a ConfigMap, which are texts.
fn data(spec: &Value) -> Value {
    let loose = spec["loose"].as_object().cloned().unwrap_or_default();
    let texts = loose.into_iter().filter(|(_, value)| value.is_string());
    texts.collect::<Map<_, _>>().into()
}

fn text() -> impl Strategy<Value = Value> {
    select(vec![json!("1"), json!("2")])
}

/// A map with a subset of these fields.
fn some(fields: Vec<(&'static str, BoxedStrategy<Value>)>, share: f64) -> BoxedStrategy<Value> {
    let fields = fields.into_iter();
    let fields =
        fields.map(|(name, value)| prop::option::weighted(share, value).prop_map(move |value| (name, value)));
    let fields: Vec<_> = fields.collect();
    let present = |fields: Vec<(&'static str, Option<Value>)>| {
        let fields = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(fields.collect())
    };
    fields.prop_map(present).boxed()
}

/// A subset of these texts, in any order.
fn texts(all: &'static [&'static str]) -> BoxedStrategy<Value> {
    subsequence(all.to_vec(), 0..=all.len())
        .prop_shuffle()
        .prop_map(|texts| json!(texts))
        .boxed()
}

/// Items by name, each at most once, in any order.
fn items(key: &'static str, all: Vec<Value>, rest: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let count = all.len();
    let named = (subsequence(all, 0..=count).prop_shuffle(), vec(rest, count));
    let item = move |(name, mut rest): (Value, Value)| {
        rest[key] = name;
        rest
    };
    named
        .prop_map(move |(names, rest)| names.into_iter().zip(rest).map(item).collect())
        .boxed()
}

fn spec() -> BoxedStrategy<Value> {
    let text = || text().boxed();
    let null_or = |other: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Null), 5 => other].boxed();
    let weight = Just(json!(2)).boxed();
    let tags = vec![
        ("value", text()),
        ("weight", weight),
        ("tags", texts(&["s", "t"])),
    ];
    let tags = some(tags, 0.4);
    let name = select(vec![json!("TCP"), json!("UDP")]).boxed();
    let protocol = some(vec![("protocol", name), ("name", text())], 0.4);
    let pair = || some(vec![("a", text()), ("b", text())], 0.6);
    let anything = prop_oneof![
        text(),
        Just(json!({})),
        Just(json!([1, 2])),
        Just(json!({"x": 1})),
        Just(json!({"x": {"y": [1]}, "z": null})),
    ];
    let numbers = subsequence(vec![1, 2, 10], 0..=3).prop_shuffle();
    let parts = vec![json!("p"), json!("q"), json!("r")];
    let loose = some(vec![("k", text()), ("l", null_or(text())), ("m", text())], 0.5);
    let inner = some(vec![("c", text())], 0.7);
    let free = vec![("a", anything.clone().boxed()), ("b", anything.boxed())];
    let free = some(free, 0.5);
    let block = some(vec![("a", text()), ("b", text()), ("inner", inner)], 0.5);
    let fields = vec![
        ("text", null_or(text())),
        ("number", select(vec![json!(1), json!(2)]).boxed()),
        ("port", select(vec![json!(80), json!("http")]).boxed()),
        ("kept", null_or(text())),
        ("mode", text()),
        ("plain", texts(&["a", "b"])),
        ("set", null_or(texts(&["x", "y", "z"]))),
        ("numbers", numbers.prop_map(|all| json!(all)).boxed()),
        ("parts", items("name", parts, tags)),
        ("ports", items("port", vec![json!(1), json!(2)], protocol)),
        ("loose", null_or(loose)),
        ("nested", some(vec![("x", pair()), ("y", pair())], 0.6)),
        ("tight", pair()),
        ("block", block),
        ("rock", pair()),
        ("free", free),
    ];
    some(fields, 0.25)
}

/// Metadata without empty maps: the real hub's apply stores them, and its next write drops them, which makes that write
/// a change.
fn metadata() -> BoxedStrategy<Value> {
    let is_full = |map: &Value| map.as_object().is_some_and(|map| !map.is_empty());
    let pair = || {
        let map = some(vec![("k", text().boxed()), ("l", text().boxed())], 0.6);
        map.prop_filter("an entry", is_full).boxed()
    };
    let finalizers = ("finalizers", texts(&["x.io/a", "x.io/b"]));
    let fields = vec![("labels", pair()), ("annotations", pair()), finalizers];
    some(fields, 0.15)
}

fn status() -> BoxedStrategy<Value> {
    let condition = some(vec![("status", text().boxed())], 0.7);
    let conditions = items("type", vec![json!("A"), json!("B")], condition);
    some(vec![("phase", text().boxed()), ("conditions", conditions)], 0.5)
}

fn operations() -> BoxedStrategy<Value> {
    let paths = "/spec/text /spec/loose /spec/loose/k /spec/set/0 /spec/set/- /spec/parts/0 /spec/block/a \
                 /metadata/labels /metadata/labels/k /status/phase";
    let paths = select(paths.split(' ').collect::<Vec<_>>());
    let operation = (select(vec!["add", "replace", "remove"]), paths).prop_map(|(op, path)| {
        let value = match path {
            "/spec/loose" | "/metadata/labels" => json!({"j": "1"}),
            "/spec/parts/0" => json!({"name": "r"}),
            _ => json!("3"),
        };
        json!({"op": op, "path": path, "value": value})
    });
    vec(operation, 1..3)
        .prop_map(|operations| json!(operations))
        .boxed()
}
