//! The profiles, the worst first, and those that are shown in detail.

use std::{cmp::Reverse, collections::HashMap};

use evidence::{ObjectRef, ProfileHistory, api::names};
use judge::{
    Verdict,
    rules::{Finding, Spending, Spendings},
};

use super::{
    axis::Axis,
    bars::Bars,
    bucket::Bucket,
    objects::Objects,
    sign::{Sign, Worst},
    text::shown,
};
use crate::{Report, text::number::count};

/// How many profiles are shown in detail.
pub(super) const DETAILED: usize = 50;

/// How many of those with findings are open at first.
const OPEN: usize = 3;

/// How many of those that fail are drawn at the top of the page.
const ON_TOP: usize = 2;

/// How many findings of a profile are listed, and how many buckets of one name are drawn.
const FINDINGS: usize = 20;
const BUCKETS: usize = 3;

type Key<'a> = (&'a str, &'a str);

/// A profile (all that have had one name), with what was found of it.
pub(super) struct Entry<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) worst: Worst,
    found: Vec<(Worst, &'a str, &'a Finding)>,
    /// When its status was written.
    pub(super) spendings: Vec<Spending>,
}

/// Where profiles that are shown in detail stand.
pub(super) struct Places<'a>(HashMap<Key<'a>, usize>);

/// A profile in detail.
pub(super) struct ProfileView {
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) sign: Sign,
    pub(super) extent: String,
    pub(super) manager: String,
    pub(super) findings: Vec<Found>,
    pub(super) hidden: Option<String>,
    pub(super) buckets: Vec<Bucket>,
    /// Whether its writes were watched, and there were none.
    pub(super) is_quiet: bool,
    pub(super) bars: Option<Bars>,
    pub(super) is_open: bool,
    /// Whether it is one of the worst, drawn at the top of the page.
    pub(super) is_on_top: bool,
}

/// A finding on a profile.
pub(super) struct Found {
    pub(super) sign: Sign,
    pub(super) rule: String,
    pub(super) message: String,
}

/// All profiles in scope, the worst first: by what was found, how often, and how much was written.
pub(super) fn ranked<'a>(report: &Report<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut places: HashMap<Key<'a>, usize> = HashMap::new();
    let spendings = Spendings::of(report.evidence);
    for history in report.evidence.histories() {
        let key = key_of(history);
        places.entry(key).or_insert_with(|| {
            entries.push(Entry {
                namespace: key.0,
                name: key.1,
                worst: Worst::Nothing,
                found: Vec::new(),
                spendings: spendings.of_profile(key.0, key.1),
            });
            entries.len() - 1
        });
    }
    for (worst, rule, finding) in findings(report) {
        let object = &finding.object;
        if let (names::KIND, Some(place)) = (&*object.kind, places.get(&(&*object.namespace, &*object.name)))
        {
            let entry = &mut entries[*place];
            entry.worst = entry.worst.max(worst);
            entry.found.push((worst, rule, finding));
        }
    }
    for entry in &mut entries {
        entry.found.sort_by_key(|(worst, _, _)| Reverse(*worst));
    }
    entries.sort_by_cached_key(|entry| {
        let weight = (entry.worst, entry.found.len(), entry.writes());
        (Reverse(weight), entry.namespace, entry.name)
    });
    entries
}

/// Every finding with what it makes of its object.
fn findings<'a>(report: &Report<'a>) -> impl Iterator<Item = (Worst, &'a str, &'a Finding)> {
    report.judgement.verdicts.iter().flat_map(|verdict| {
        let id = verdict.rule.id;
        let open = verdict.findings.iter().map(move |finding| {
            let counts = verdict.verdict == Verdict::Fail && !finding.advisory;
            (if counts { Worst::Failed } else { Worst::Warned }, id, finding)
        });
        let waived = verdict.waived.iter();
        open.chain(waived.map(move |(finding, _)| (Worst::Waived, id, finding)))
    })
}

fn key_of(history: &ProfileHistory) -> Key<'_> {
    let metadata = &history.last().metadata;
    (&metadata.namespace, &metadata.name)
}

impl Entry<'_> {
    /// How many status writes are known.
    fn writes(&self) -> usize {
        self.spendings.iter().map(|spending| spending.draws.len()).sum()
    }

    /// Its name, with the namespace.
    pub(super) fn path(&self) -> String {
        shown(&format!("{}/{}", self.namespace, self.name))
    }
}

impl<'a> Places<'a> {
    /// The first of those that are ranked.
    pub(super) fn of_ranked(entries: &[Entry<'a>]) -> Self {
        let detailed = entries.iter().take(DETAILED).enumerate();
        Self(
            detailed
                .map(|(place, entry)| ((entry.namespace, entry.name), place))
                .collect(),
        )
    }

    /// The place of the profile that an object is.
    pub(super) fn of(&self, object: &ObjectRef) -> Option<usize> {
        let is_profile = object.kind == names::KIND;
        is_profile.then(|| self.0.get(&(&*object.namespace, &*object.name)).copied())?
    }
}

impl ProfileView {
    /// Tells of a profile in detail; with an axis, draws what became of it over time.
    pub(super) fn of(
        report: &Report,
        objects: &Objects,
        entry: &Entry,
        place: usize,
        axis: Option<&Axis>,
    ) -> Self {
        let histories = objects.histories(entry.namespace, entry.name);
        let manager = histories.last().map_or("", |history| history.last().manager());
        let found = entry.found.iter().take(FINDINGS);
        let drawn = |axis: &Axis| {
            let spendings = entry.spendings.iter().rev().take(BUCKETS).rev();
            spendings.map(|spending| Bucket::draw(spending, axis)).collect()
        };
        Self {
            place,
            name: entry.path(),
            sign: entry.worst.sign(),
            extent: extent(entry, axis.is_some()),
            manager: shown(manager),
            findings: found
                .map(|(worst, rule, finding)| Found {
                    sign: worst.sign(),
                    rule: (*rule).to_owned(),
                    message: shown(&finding.message),
                })
                .collect(),
            hidden: (entry.found.len() > FINDINGS)
                .then(|| count(entry.found.len() - FINDINGS, "more finding")),
            buckets: axis.map_or_else(Vec::new, drawn),
            is_quiet: axis.is_some() && entry.spendings.is_empty(),
            bars: axis.and_then(|axis| Bars::draw(report.evidence, histories, axis)),
            is_open: place < OPEN && entry.worst >= Worst::Warned,
            is_on_top: place < ON_TOP && entry.worst == Worst::Failed && axis.is_some(),
        }
    }
}

fn extent(entry: &Entry, was_watched: bool) -> String {
    let mut parts = Vec::new();
    if !entry.found.is_empty() {
        parts.push(count(entry.found.len(), "finding"));
    }
    if was_watched {
        parts.push(count(entry.writes(), "status write"));
    }
    if entry.spendings.iter().any(Spending::is_overdrawn) {
        parts.push("over the write budget".to_owned());
    }
    parts.join(", ")
}
