//! The profiles or decisions that are judged, the worst first.

use std::{cmp::Reverse, collections::HashMap, hash::Hash};

use evidence::{
    ObjectRef, SliceHistory,
    api::{DecisionId, ObjectKind, Role},
};
use jiff::Timestamp;
use judge::{
    Verdict,
    rules::{Finding, Spending, Spendings},
};

use super::{
    choices::Decision,
    objects::{Key, Objects},
    sign::Worst,
    text::shown,
    words::Words,
};
use crate::Report;

/// How many profiles or decisions are shown in detail.
pub(super) const DETAILED: usize = 50;

/// A profile or a decision, with what was found of it.
pub(super) struct Entry<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) worst: Worst,
    pub(super) found: Vec<(Worst, &'a str, &'a Finding)>,
    pub(super) subject: Subject<'a>,
    /// When it changed, as far as that is counted.
    pub(super) changes: Vec<Timestamp>,
}

/// What an entry is, with what is drawn of it.
pub(super) enum Subject<'a> {
    /// A profile: when its status was written.
    Profile(Vec<Spending>),
    Decision(Decision<'a>),
}

/// All entries of a role.
pub(super) struct Ranking<'a> {
    pub(super) words: &'static Words,
    /// The worst first.
    pub(super) entries: Vec<Entry<'a>>,
}

/// Where entries that are shown in detail stand.
pub(super) struct Places<'a> {
    ids: HashMap<Key<'a>, Anchor>,
    objects: &'a Objects<'a>,
}

/// A place on the page.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) id: String,
    /// What is shown there, such as `profile`.
    pub(super) one: &'static str,
}

/// All in scope of each role that is judged: by what was found, how often, and how much changed.
pub(super) fn rankings<'a>(report: &Report<'a>, objects: &Objects<'a>) -> Vec<Ranking<'a>> {
    let rankings = report.judgement.roles().map(|role| Ranking {
        words: Words::of(role),
        entries: ranked(report, objects, role),
    });
    rankings.collect()
}

fn ranked<'a>(report: &Report<'a>, objects: &Objects<'a>, role: Role) -> Vec<Entry<'a>> {
    let mut entries = match role.objects() {
        ObjectKind::ClusterProfile => profiles(report),
        ObjectKind::PlacementDecision => decisions(report),
    };
    let keys = entries.iter().enumerate();
    let places: HashMap<Key<'a>, usize> = keys.map(|(place, entry)| (entry.key(), place)).collect();
    for (worst, rule, finding) in findings(report) {
        let key = objects.key_of(&finding.object);
        if let Some(place) = key.and_then(|key| places.get(&key)) {
            let entry = &mut entries[*place];
            entry.worst = entry.worst.max(worst);
            entry.found.push((worst, rule, finding));
        }
    }
    for entry in &mut entries {
        entry.found.sort_by_key(|(worst, _, _)| Reverse(*worst));
    }
    entries.sort_by_cached_key(|entry| {
        let weight = (entry.worst, entry.found.len(), entry.changes.len());
        (Reverse(weight), entry.namespace, entry.name)
    });
    entries
}

fn profiles<'a>(report: &Report<'a>) -> Vec<Entry<'a>> {
    let spendings = Spendings::of(report.evidence);
    let keys = report.evidence.histories().map(|history| {
        let metadata = &history.last().metadata;
        ((&*metadata.namespace, &*metadata.name), history)
    });
    let entries = grouped(keys).into_iter().map(|((namespace, name), _)| {
        let spendings = spendings.of_profile(namespace, name).to_vec();
        let draws = spendings.iter().flat_map(|spending| &spending.draws);
        Entry {
            changes: draws.map(|draw| draw.at).collect(),
            ..Entry::new(namespace, name, Subject::Profile(spendings))
        }
    });
    entries.collect()
}

fn decisions<'a>(report: &Report<'a>) -> Vec<Entry<'a>> {
    let keys = report
        .evidence
        .slice_histories()
        .flat_map(|history: &'a SliceHistory| {
            let versions = history.versions.iter();
            let mut ids: Vec<DecisionId<'a>> =
                versions.map(|version| DecisionId::of(&version.object)).collect();
            // A slice may be given to another decision, and back.
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().map(move |id| (id, history))
        });
    let entries = grouped(keys).into_iter().map(|(id, slices)| {
        let decision = Decision { id, slices };
        Entry {
            changes: decision.changes(),
            ..Entry::new(id.namespace, id.name(), Subject::Decision(decision))
        }
    });
    entries.collect()
}

/// Puts together what has the same key, in the order of the first of each.
fn grouped<K: Copy + Eq + Hash, V>(items: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, item) in items {
        let place = *places.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
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

impl<'a> Entry<'a> {
    fn new(namespace: &'a str, name: &'a str, subject: Subject<'a>) -> Self {
        Self {
            namespace,
            name,
            worst: Worst::Nothing,
            found: Vec::new(),
            subject,
            changes: Vec::new(),
        }
    }

    fn key(&self) -> Key<'a> {
        match &self.subject {
            Subject::Profile(_) => Key::Profile(self.namespace, self.name),
            Subject::Decision(decision) => Key::Decision(decision.id),
        }
    }

    /// Its name, with the namespace.
    pub(super) fn path(&self) -> String {
        shown(&format!("{}/{}", self.namespace, self.name))
    }
}

impl<'a> Places<'a> {
    /// The first of those that are ranked.
    pub(super) fn of_ranked(rankings: &[Ranking<'a>], objects: &'a Objects<'a>) -> Self {
        let anchors = rankings.iter().flat_map(|ranking| {
            let detailed = ranking.entries.iter().take(DETAILED).enumerate();
            detailed.map(|(place, entry)| (entry.key(), Anchor::of(ranking.words, place)))
        });
        Self {
            ids: anchors.collect(),
            objects,
        }
    }

    /// Where the profile or the decision of an object is shown.
    pub(super) fn of(&self, object: &ObjectRef) -> Option<Anchor> {
        let key = self.objects.key_of(object)?;
        self.ids.get(&key).cloned()
    }
}

impl Anchor {
    /// That of the one at that place among those of its role.
    pub(super) fn of(words: &Words, place: usize) -> Self {
        Self {
            id: format!("{}-{place}", words.one),
            one: words.one,
        }
    }
}
