//! Joining partial reports of one implementation, split by rules, by namespaces or by manager.
//!
//! A merged report holds its parts unchanged and derives everything else from them. So the order and the steps of
//! merging do not matter.

use std::collections::BTreeMap;

use evidence::Shard;
use judge::Verdict;
use serde_json::{Value, json};

use super::{
    consistency::Inconsistent,
    document::{Document, Entry, Waived},
    outcome::{decision, suites},
};

/// Why reports cannot be merged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There are none.
    #[error("there is no report to merge: name two or more")]
    None,
    /// They are not about the same.
    #[error(
        "{field} differs: one report says {one}, another says {other}; merge only parts of one run of one implementation"
    )]
    Differ {
        /// The field.
        field: &'static str,
        /// What stands in one.
        one: String,
        /// What stands in another.
        other: String,
    },
    /// One of them is about a share of a fleet.
    #[error(
        "a report on share {0} of a fleet cannot be merged: merge the evidence of all shares, and judge that"
    )]
    Share(Shard),
    /// One of them contradicts itself.
    #[error("a report cannot be merged: {0}")]
    Inconsistent(#[from] Inconsistent),
}

/// Merges reports; one alone stays as it is.
///
/// # Errors
/// When they are not about the same, or one of them contradicts itself.
pub fn merge(documents: Vec<Document>) -> Result<Document, MergeError> {
    let mut shards: Vec<Document> = documents.into_iter().flat_map(Document::into_runs).collect();
    shards.sort_by_cached_key(order);
    shards.dedup();
    let Some((first, others)) = shards.split_first() else {
        return Err(MergeError::None);
    };
    if others.is_empty() {
        first.entries()?;
        return Ok(first.clone());
    }
    if let Some(shard) = shards.iter().find_map(Document::shard) {
        return Err(MergeError::Share(shard));
    }
    for other in others {
        agree(first, other)?;
    }
    let mut entries: Vec<Entry> = first.entries()?;
    for shard in others {
        for (entry, other) in entries.iter_mut().zip(shard.entries()?) {
            entry.join(other);
        }
    }
    let waivers = waivers(&shards);
    let mut merged = Document {
        date: shards.iter().map(|shard| shard.date).max().unwrap_or(first.date),
        hub_version: common(&shards, |shard| &shard.hub_version),
        scope: None,
        evidence: None,
        suites: suites(&entries),
        waivers,
        shards: shards.clone(),
        ..first.clone()
    };
    merged.decision = decision(&entries, merged.extent(), &merged.waivers, first.claim.strict);
    Ok(merged)
}

/// By the evidence first, so that a reader finds a shard; by all else after that.
fn order(document: &Document) -> String {
    let sum = document.evidence.as_ref().map_or("", |kept| &kept.sha256);
    format!("{sum} {}", serde_json::to_string(document).unwrap_or_default())
}

fn agree(one: &Document, other: &Document) -> Result<(), MergeError> {
    for (field, of) in HEAD {
        let (one, other) = (of(one), of(other));
        if one != other {
            return Err(MergeError::Differ {
                field,
                one: one.to_string(),
                other: other.to_string(),
            });
        }
    }
    Ok(())
}

/// A field of the head, as a value that can be compared and shown.
type Field = (&'static str, fn(&Document) -> Value);

/// What shards have to agree in. The claim as a whole stands last: its parts are named where they are told apart.
const HEAD: [Field; 11] = [
    ("suiteVersion", |document| json!(document.suite_version)),
    ("rulesAsOf", |document| json!(document.rules_as_of)),
    ("edition", |document| json!(document.edition)),
    ("clusterProfileApiVersion", |document| {
        json!(document.cluster_profile_api_version)
    }),
    ("implementation", |document| json!(document.implementation)),
    ("submittedBy", |document| json!(document.submitted_by)),
    ("environment", |document| json!(document.environment)),
    ("claim.features", |document| json!(document.claim.features)),
    ("claim.noFeatures", |document| json!(document.claim.no_features)),
    ("claim.strict", |document| json!(document.claim.strict)),
    ("claim", |document| json!(document.claim)),
];

/// What all shards say alike; none where they do not.
fn common<T: Clone + PartialEq>(shards: &[Document], of: impl Fn(&Document) -> &Option<T>) -> Option<T> {
    let first = of(&shards[0]);
    first
        .clone()
        .filter(|_| shards.iter().all(|shard| of(shard) == first))
}

/// Every waiver once: what one shard has no use for, another may need.
fn waivers(shards: &[Document]) -> Vec<Waived> {
    let mut merged: BTreeMap<Waived, Waived> = BTreeMap::new();
    for waiver in shards.iter().flat_map(|shard| &shard.waivers) {
        let bare = Waived {
            waived: 0,
            expired: false,
            judged: false,
            ..waiver.clone()
        };
        let whole = merged.entry(bare.clone()).or_insert(bare);
        whole.waived += waiver.waived;
        whole.expired |= waiver.expired;
        whole.judged |= waiver.judged;
    }
    merged.into_values().collect()
}

impl Document {
    /// The share of a fleet that it is about, if so.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.scope.as_ref()?.shard
    }

    fn into_runs(self) -> Vec<Self> {
        if self.shards.is_empty() {
            vec![self]
        } else {
            self.shards
        }
    }
}

impl Entry {
    /// Joins what another shard says of the same rule: the verdict that binds most, with the sums of those that say so.
    fn join(&mut self, other: Self) {
        let (own, others) = (weight(self), weight(&other));
        if own < others {
            *self = other;
        } else if own == others {
            self.examined += other.examined;
            self.violations += other.violations;
            self.hints += other.hints;
            self.waived += other.waived;
            self.reasons.extend(other.reasons);
        }
    }
}

/// How much a verdict binds where shards differ: what was seen to be broken is broken, and what was judged anywhere was
/// judged. That one shard was not to judge a rule says nothing beside what another says.
fn weight(entry: &Entry) -> u8 {
    match entry.verdict {
        Verdict::Skipped if entry.is_deselected() => 0,
        Verdict::Skipped => 1,
        Verdict::NotApplicable => 2,
        Verdict::Pass => 3,
        Verdict::Warn => 4,
        Verdict::Waived => 5,
        Verdict::Inconclusive => 6,
        Verdict::Fail => 7,
    }
}
