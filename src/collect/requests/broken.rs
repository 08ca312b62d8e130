//! What the hub's own policies found in a write: annotations of its audit event.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evidence::{
    Request, Scope,
    policies::{AUDIT_FAILURE, AUDIT_KEY, NAME_PREFIX, PolicyFailures, is_rule_id},
};
use jiff::Timestamp;
use serde::Deserialize;

use super::event::Event;

/// The most rules of one write.
const MOST: usize = 100;

/// One failure in the API server's own annotation.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    message: String,
    policy: String,
}

/// A rule, and the profile that broke it: namespace and name.
type Key = (String, Arc<str>, Arc<str>);

/// What policies found, by rule and profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken(BTreeMap<Key, Count>);

/// Writes of one profile that break one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    writes: u64,
    failed: u64,
    from: Timestamp,
    until: Timestamp,
}

impl Broken {
    /// Counts what policies found in a write.
    pub(super) fn take(&mut self, event: &Event<'_>, request: &Request) {
        if request.dry_run || request.is_the_suites() {
            return;
        }
        for rule in broken_rules(event) {
            let key = (rule, Arc::clone(&request.namespace), Arc::clone(&request.name));
            let count = self.0.entry(key).or_insert(Count {
                writes: 0,
                failed: 0,
                from: request.at,
                until: request.at,
            });
            count.writes += 1;
            count.failed += u64::from(!request.is_write());
            count.from = count.from.min(request.at);
            count.until = count.until.max(request.at);
        }
    }

    /// What they found in the scope, by rule.
    pub(super) fn by_rule(&self, scope: &Scope) -> Vec<PolicyFailures> {
        let mut rules: Vec<PolicyFailures> = Vec::new();
        for ((rule, namespace, name), count) in &self.0 {
            if !scope.holds_namespace(namespace) {
                continue;
            }
            if rules.last().is_none_or(|last| last.rule != *rule) {
                rules.push(PolicyFailures {
                    rule: rule.clone(),
                    from: Timestamp::MAX,
                    until: Timestamp::MIN,
                    ..PolicyFailures::default()
                });
            }
            let Some(failures) = rules.last_mut() else {
                continue;
            };
            if count.from < failures.from {
                failures.from = count.from;
                failures.namespace = namespace.to_string();
                failures.name = name.to_string();
            }
            failures.until = failures.until.max(count.until);
            failures.writes += count.writes;
            failures.failed += count.failed;
            failures.profiles += 1;
        }
        rules
    }
}

/// The ids of the rules that policies of the suite found broken by a write, sorted.
fn broken_rules(event: &Event<'_>) -> Vec<String> {
    let annotations = event.annotations.map(|json| serde_json::from_str(json.get()));
    let annotations: BTreeMap<String, String> = annotations.and_then(Result::ok).unwrap_or_default();
    let mut rules = BTreeSet::new();
    for (key, value) in &annotations {
        if key == AUDIT_FAILURE {
            let failures: Vec<Failure> = serde_json::from_str(value).unwrap_or_default();
            let ours = failures
                .iter()
                .filter(|failure| failure.policy.starts_with(NAME_PREFIX));
            // A message begins with the rule's id.
            rules.extend(ours.filter_map(|failure| failure.message.split(' ').next().map(str::to_owned)));
        } else if key
            .split_once('/')
            .is_some_and(|(policy, key)| policy.starts_with(NAME_PREFIX) && key == AUDIT_KEY)
        {
            rules.extend(value.split(',').map(str::to_owned));
        }
    }
    rules.into_iter().filter(|id| is_rule_id(id)).take(MOST).collect()
}
