//! What findings say of writes: who wrote, how often, and which fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use evidence::{Request, Tracked, Version};

use super::{Sender, entries, hand::Who, is_status, logged::Judged};
use crate::text::{counted, listed, redacted};

/// The maximum number of writers, and of fields of each, that a finding lists.
const MOST: usize = 3;

/// The name of a writer whom the evidence does not tell.
const UNKNOWN: &str = "an unknown writer";

/// How the evidence shows a write.
#[derive(Clone, Debug)]
pub(crate) enum Seen<'e, T> {
    /// As a request of the audit log.
    Request(&'e Request),
    /// As a step between two versions that the watch saw.
    Step(&'e Version<T>, &'e Version<T>),
}

/// Writes by their writers. Its text follows a number of writes, such as `3 by m (status.version each time)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<String, Writes>);

/// The writes of one writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Writes {
    count: usize,
    /// How often each field was written, as far as the evidence tells.
    fields: BTreeMap<String, usize>,
}

impl Tally {
    /// The writes that evidence shows. `fields` gives those in which two versions differ.
    pub(crate) fn of<'e, T: Judged>(
        who: &Who<'e, T>,
        writes: impl IntoIterator<Item = Seen<'e, T>>,
        fields: fn(&T, &T) -> BTreeSet<String>,
    ) -> Self {
        let mut tally = Self::default();
        for write in writes {
            match write {
                Seen::Request(request) => tally.add_request(request),
                Seen::Step(before, after) => {
                    let fields = fields(&before.object, &after.object);
                    let by = who.step(&before.object, (&after.object, after.received())).by;
                    let by = if by.is_empty() {
                        owners(&after.object, &fields)
                    } else {
                        listed(&by)
                    };
                    tally.add(by, fields);
                }
            }
        }
        tally
    }

    /// The requests of an audit log.
    pub(crate) fn of_requests<'e>(requests: impl IntoIterator<Item = &'e Request>) -> Self {
        let mut tally = Self::default();
        for request in requests {
            tally.add_request(request);
        }
        tally
    }

    /// Takes the fields of writers whose fields are unknown from what else was seen of them.
    pub(crate) fn with_fields_of(mut self, seen: &Self) -> Self {
        for (by, writes) in &mut self.0 {
            if let (true, Some(seen)) = (writes.fields.is_empty(), seen.0.get(by)) {
                let most = writes.count;
                let fields = seen.fields.iter();
                writes.fields = fields
                    .map(|(field, count)| (field.clone(), most.min(*count)))
                    .collect();
            }
        }
        self
    }

    /// Adds a request of an audit log.
    pub(crate) fn add_request(&mut self, request: &Request) {
        self.add(redacted(Sender::of(request).name), sent(request));
    }

    /// Adds a write with the fields that it changed.
    pub(crate) fn add(&mut self, by: String, fields: impl IntoIterator<Item = String>) {
        let writes = self.0.entry(by).or_default();
        writes.count += 1;
        for field in fields {
            *writes.fields.entry(field).or_default() += 1;
        }
    }
}

/// The field managers that own what was written. Who sets a field owns it, even if a second write within one second leaves
/// the time of the entry as it was.
fn owners<T: Tracked>(object: &T, fields: &BTreeSet<String>) -> String {
    let holds = |own: &str| {
        let mut rests = fields.iter().filter_map(|field| field.strip_prefix(own));
        rests.any(|rest| rest.is_empty() || rest.starts_with('['))
    };
    let owners = entries(object).filter(|entry| entry.is_an_actors() && entry.owned(holds).is_some());
    let owners: BTreeSet<String> = owners.map(|entry| redacted(entry.by())).collect();
    if owners.is_empty() {
        return UNKNOWN.to_owned();
    }
    owners.into_iter().collect::<Vec<String>>().join(" or ")
}

/// The fields that a patch names. An update or an apply names all fields of its sender, changed or not.
fn sent(request: &Request) -> BTreeSet<String> {
    let is_of_status = &*request.subresource == "status";
    let body = request.body.iter().filter(|_| &*request.verb == "patch");
    let body = body.filter(|body| body.parts.iter().all(|part| part != "metadata.name"));
    let parts = body.flat_map(|body| &body.parts);
    let parts = parts.filter(|part| !is_of_status || is_status(part));
    parts.map(|part| redacted(part)).collect()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writers: Vec<_> = self.0.iter().collect();
        writers.sort_by_key(|(_, writes)| usize::MAX - writes.count);
        let texts = writers
            .iter()
            .map(|(by, writes)| format!("{} by {by}{writes}", writes.count));
        f.write_str(&first_of(texts, "writer"))
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return Ok(());
        }
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_by_key(|(_, count)| usize::MAX - **count);
        let texts = fields.iter().map(|(field, count)| {
            let times = if **count == self.count {
                "each time".to_owned()
            } else {
                counted(*count, "time")
            };
            format!("{field} {times}")
        });
        write!(f, " ({})", first_of(texts, "field"))
    }
}

/// The first few texts, and how many more things there are.
fn first_of(texts: impl ExactSizeIterator<Item = String>, thing: &str) -> String {
    let more = texts.len().saturating_sub(MOST);
    let mut texts: Vec<String> = texts.take(MOST).collect();
    if more > 0 {
        texts.push(counted(more, &format!("more {thing}")));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use evidence::api::{ClusterProfile, Edition};
    use serde_json::json;

    use super::*;
    use crate::{rules::example::Example, shared::changed_fields::changed_fields};

    fn tallied(world: serde_json::Value) -> (String, String) {
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        let evidence = example.evidence();
        let who = Who::<ClusterProfile>::of(evidence);
        let steps = evidence.profiles[0].steps();
        let steps = steps.map(|(before, after)| Seen::Step(before, after));
        let steps = Tally::of(&who, steps, changed_fields);
        let requests = evidence.requests.iter().flat_map(|requests| &requests.events);
        let requests = Tally::of(&who, requests.map(Seen::Request), changed_fields);
        (requests.with_fields_of(&steps).to_string(), steps.to_string())
    }

    #[test]
    fn a_log_tells_who_wrote_and_a_patch_which_fields() {
        let (requests, _) = tallied(json!({"requests": [
            {"at": "1s", "user": "m", "subresource": "status", "body": {"parts": ["metadata.labels", "status.version"]}},
            {"at": "2s", "user": "m", "subresource": "status", "body": {"parts": ["status.conditions", "status.version"]}},
            {"at": "3s", "user": "b", "verb": "update", "subresource": "status", "body": {"parts": ["status"]}},
        ]}));
        assert_eq!(
            requests,
            "2 by m (status.version each time, status.conditions 1 time), 1 by b"
        );
    }

    #[test]
    fn a_watch_tells_which_fields_changed_and_the_owner_of_what_kept_its_time() {
        let change = |status: serde_json::Value| json!({"at": "10s", "change": {"status": status}});
        let (_, steps) = tallied(json!({"steps": [
            change(json!({"version": {"kubernetes": "v1.35.0"}})),
            change(json!({"version": {"kubernetes": "v1.35.1"}, "properties": [
                {"name": "cluster-endpoints.k8s.io", "value": "[\"a.default.example:6443\"]"},
                {"name": "tier", "value": "gold"},
            ]})),
            {"at": "20s", "change": {"metadata": {"labels": {"tier": "gold"}}}},
        ]}));
        assert!(steps.starts_with("2 by m (status.version each time, "), "{steps}");
        assert!(
            steps.ends_with("1 by an unknown writer (metadata.labels[tier] each time)"),
            "{steps}"
        );
    }

    #[test]
    fn more_than_three_writers_are_counted() {
        let requests: Vec<_> = (0..5)
            .map(|n| json!({"at": "1s", "user": format!("u{n}"), "subresource": "status"}))
            .collect();
        let (requests, _) = tallied(json!({"requests": requests}));
        assert_eq!(requests, "1 by u0, 1 by u1, 1 by u2, 2 more writers");
    }
}
