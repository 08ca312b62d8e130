//! Examples as writes: what a client sends to bring about the versions of an example's one profile.

use std::collections::BTreeMap;

use evidence::{Evidence, ProfileHistory, Scope, api::names, parse_time};
use judge::rules::{Rule, example::Example};
use serde_json::{Map, Value, json};

/// Why an example is not played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It has more than two versions, a deletion, or a change shortly before its end.
    TimeLine,
    /// Its verdict comes from a member, a driver, an audit log, a dry run or a plugin.
    OtherEvidence,
    /// No hub takes it.
    Refused,
    /// The runner was told what the objects do not say, or saw a part only.
    ToldOrUnseen,
}

/// One write.
#[derive(Clone, Debug)]
pub enum Write {
    /// Creates a profile or a Secret.
    Create { object: Value },
    /// Replaces metadata and spec.
    Update { object: Value },
    /// Replaces the status.
    Status { object: Value },
    /// Begins the deletion of a profile that a finalizer keeps.
    Delete { object: Value },
}

/// An example as writes.
pub struct Play {
    rule: &'static Rule,
    pub example: Example,
    /// The namespaces of the objects, with their labels.
    pub namespaces: BTreeMap<String, Value>,
    pub steps: Vec<Step>,
}

/// One write of an example.
pub struct Step {
    pub write: Write,
    /// Whether it brings about the last version of its object, in which it stays.
    pub settles: bool,
}

/// The grace within which rules on state excuse a fault, in seconds.
const GRACE: i64 = 120;

impl Play {
    pub fn of(rule: &'static Rule, example: &Example) -> Result<Self, LeftOut> {
        let evidence = example.evidence();
        fit(evidence)?;
        let mut steps: Vec<Step> = evidence.profiles.iter().flat_map(of_history).collect();
        steps.extend(evidence.secrets.iter().map(|secret| Step {
            write: Write::Create {
                object: as_secret(secret),
            },
            settles: true,
        }));
        let namespaces = evidence.namespaces.iter();
        let namespaces = namespaces
            .map(|each| (each.name.to_string(), json!(each.labels)))
            .collect();
        Ok(Self {
            rule,
            example: example.clone(),
            namespaces,
            steps,
        })
    }

    pub fn name(&self) -> String {
        format!("`{}` of {}", self.example.name, self.rule.id)
    }
}

impl Write {
    pub fn object(&self) -> &Value {
        match self {
            Write::Create { object }
            | Write::Update { object }
            | Write::Status { object }
            | Write::Delete { object } => object,
        }
    }
}

/// Whether the writes of its objects, each on its own, decide the example.
fn fit(evidence: &Evidence) -> Result<(), LeftOut> {
    let is_other = evidence.requests.is_some()
        || evidence.driver.is_some()
        || !evidence.members.is_empty()
        || !evidence.probes.is_empty()
        || !evidence.endpoint_calls.is_empty()
        || !evidence.logins.is_empty();
    if is_other {
        return Err(LeftOut::OtherEvidence);
    }
    let header = &evidence.header;
    if header.scope != Scope::default() || !header.claim.clustersets.is_empty() || !evidence.gaps.is_empty() {
        return Err(LeftOut::ToldOrUnseen);
    }
    let is_playable = |history: &ProfileHistory| {
        let last = history.versions.last().unwrap();
        let created = last
            .object
            .metadata
            .creation_timestamp
            .as_deref()
            .and_then(parse_time);
        let changed = (history.versions.len() > 1).then_some(last.received());
        // What is younger than the grace, a rule may excuse.
        let is_settled = created.into_iter().chain(changed).all(|since| {
            let window = header.window.iter();
            window
                .map(|window| window.until.duration_since(since).as_secs())
                .all(|seen| seen > GRACE)
        });
        history.versions.len() <= 2 && is_settled && history.deleted.is_none()
    };
    evidence
        .profiles
        .iter()
        .all(is_playable)
        .then_some(())
        .ok_or(LeftOut::TimeLine)
}

/// The writes that bring about the versions of a profile.
fn of_history(history: &ProfileHistory) -> Vec<Step> {
    let versions: Vec<Value> = history
        .versions
        .iter()
        .map(|version| as_sent(&serde_json::to_value(&version.object).unwrap()))
        .collect();
    let mut stored = without_status(&versions[0]);
    let only = versions.len() == 1;
    let mut steps = vec![Step {
        write: Write::Create {
            object: stored.clone(),
        },
        settles: only,
    }];
    if versions[0]["metadata"].get("deletionTimestamp").is_some() {
        steps.push(Step {
            write: Write::Delete {
                object: stored.clone(),
            },
            settles: only,
        });
    }
    for (index, version) in versions.iter().enumerate() {
        let settles = index + 1 == versions.len();
        let mut next = version.clone();
        set_status(&mut next, stored.get("status").cloned());
        if next != stored {
            steps.push(Step {
                write: Write::Update { object: next.clone() },
                settles,
            });
            stored = next;
        }
        if version.get("status") != stored.get("status") {
            steps.push(Step {
                write: Write::Status {
                    object: version.clone(),
                },
                settles,
            });
            stored = version.clone();
        }
    }
    steps
}

/// A profile as a client sends it: without what the hub or the suite adds.
fn as_sent(profile: &Value) -> Value {
    let mut profile = without_null(profile);
    profile["kind"] = names::KIND.into();
    let metadata = profile["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "writers"] {
        metadata.remove(field);
    }
    if metadata.contains_key("deletionTimestamp") {
        metadata.insert(
            "finalizers".to_owned(),
            json!(["conformance.clusterprofile/kept"]),
        );
    }
    profile
}

fn without_status(profile: &Value) -> Value {
    let mut profile = profile.clone();
    set_status(&mut profile, None);
    profile
}

fn set_status(profile: &mut Value, status: Option<Value>) {
    let fields = profile.as_object_mut().unwrap();
    match status {
        Some(status) => _ = fields.insert("status".to_owned(), status),
        None => _ = fields.remove("status"),
    }
}

/// A value without the fields that are null, which no client sends, and without empty objects, which are none.
fn without_null(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(name, field)| (name.clone(), without_null(field)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_null).collect(),
        other => other.clone(),
    }
}

/// A Secret with the keys that the evidence tells, and no credential.
fn as_secret(secret: &evidence::Secret) -> Value {
    let data: Map<String, Value> = secret
        .keys
        .iter()
        .map(|key| (key.to_string(), json!("eA==")))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": secret.name, "namespace": secret.namespace, "labels": secret.labels},
        "data": data,
    })
}
