//! A profile or a decision in detail.

use judge::rules::Spending;

use super::{
    axis::Axis,
    bars::Bars,
    bucket::Bucket,
    conditions,
    entries::{Anchor, Entry, Subject},
    objects::Objects,
    sign::{Sign, Worst},
    text::shown,
    words::Words,
};
use crate::{Report, text::number::count};

/// How many of those with findings are open at first.
const OPEN: usize = 3;

/// How many of those that fail are drawn at the top of the page.
const ON_TOP: usize = 2;

/// How many findings of an entry are listed, and how many buckets of one name are drawn.
const FINDINGS: usize = 20;
const BUCKETS: usize = 3;

/// A profile or a decision in detail.
pub(super) struct Detail {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) sign: Sign,
    pub(super) extent: String,
    /// Who publishes it; empty if it does not say.
    pub(super) publisher: String,
    pub(super) findings: Vec<Found>,
    pub(super) hidden: Option<String>,
    pub(super) buckets: Vec<Bucket>,
    /// What was watched and not seen.
    pub(super) quiet: Option<String>,
    pub(super) bars: Vec<Bars>,
    pub(super) is_open: bool,
    /// Whether it is one of the worst, drawn at the top of the page.
    pub(super) is_on_top: bool,
}

/// A finding on it.
pub(super) struct Found {
    pub(super) sign: Sign,
    pub(super) rule: String,
    pub(super) message: String,
}

impl Detail {
    /// Shows an entry in detail; with an axis, draws what became of it over time.
    pub(super) fn of(
        report: &Report,
        objects: &Objects,
        words: &Words,
        (place, entry): (usize, &Entry),
        axis: Option<&Axis>,
    ) -> Self {
        let found = entry.found.iter().take(FINDINGS);
        let (publisher, buckets, bars) = match &entry.subject {
            Subject::Profile(spendings) => {
                let histories = objects.profiles(entry.namespace, entry.name);
                let manager = histories.last().map_or("", |history| history.last().manager());
                let bars = axis.and_then(|axis| conditions::draw(report.evidence, histories, axis));
                (manager, drawn(spendings, axis), bars.into_iter().collect())
            }
            Subject::Decision(decision) => {
                let bars = axis.map(|axis| decision.draw(report.evidence, axis));
                (decision.id.scheduler, Vec::new(), bars.unwrap_or_default())
            }
        };
        Self {
            id: Anchor::of(words, place).id,
            name: entry.path(),
            sign: entry.worst.sign(),
            extent: extent(entry, words, axis.is_some()),
            publisher: shown(publisher),
            findings: found
                .map(|(worst, rule, finding)| Found {
                    sign: worst.sign(),
                    rule: (*rule).to_owned(),
                    message: shown(&finding.message),
                })
                .collect(),
            hidden: (entry.found.len() > FINDINGS)
                .then(|| count(entry.found.len() - FINDINGS, "more finding")),
            buckets,
            quiet: (axis.is_some() && entry.changes.is_empty())
                .then(|| format!("No {}s were observed.", words.change)),
            bars,
            is_open: place < OPEN && entry.worst >= Worst::Warned,
            is_on_top: place < ON_TOP && entry.worst == Worst::Failed && axis.is_some(),
        }
    }
}

/// The last buckets.
fn drawn(spendings: &[Spending], axis: Option<&Axis>) -> Vec<Bucket> {
    let last = &spendings[spendings.len().saturating_sub(BUCKETS)..];
    let drawn = axis.into_iter().flat_map(|axis| {
        let buckets = last.iter();
        buckets.map(|spending| Bucket::draw(spending, axis))
    });
    drawn.collect()
}

fn extent(entry: &Entry, words: &Words, was_watched: bool) -> String {
    let mut parts = Vec::new();
    if !entry.found.is_empty() {
        parts.push(count(entry.found.len(), "finding"));
    }
    if let Subject::Decision(decision) = &entry.subject {
        parts.push(count(decision.clusters(), "cluster"));
    }
    if was_watched {
        parts.push(count(entry.changes.len(), words.change));
    }
    if let Subject::Profile(spendings) = &entry.subject
        && spendings.iter().any(Spending::is_overdrawn)
    {
        parts.push("over the write budget".to_owned());
    }
    parts.join(", ")
}
