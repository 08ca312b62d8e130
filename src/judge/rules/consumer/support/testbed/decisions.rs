//! Which profiles the decisions named that a consumer reads (KEP-5313), and when.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    ConsumerSpec, Evidence, Origin, SliceHistory, Version,
    api::{ClusterProfileReference, PlacementDecision, names::LABEL_DECISION_KEY},
};

use super::play::{Play, Subject};
use crate::rules::consumer::support::time::{Edge, Micros, Run, Seen, Set, Timeline, While, absent};

/// The slices that were there, be they the consumer's or not.
pub(crate) struct Decisions<'e> {
    slices: Vec<Slice<'e>>,
    /// When no slice can have been there that nobody ever saw: none came and went unwatched.
    seen: While,
}

/// A slice: one namespace and name, in all of its lives.
pub(crate) struct Slice<'e> {
    /// Its last version.
    pub(crate) last: &'e PlacementDecision,
    timeline: Timeline<'e, PlacementDecision>,
    /// Whether the run saw it from its creation on, but for gaps.
    pub(crate) is_seen_from_its_creation: bool,
    /// Whether the consumer ever read it.
    is_read: bool,
}

/// When a decision that the consumer reads first named a profile.
pub(crate) struct Naming<'s, 'e> {
    pub(crate) slice: &'s Slice<'e>,
    /// The version that did so.
    version: &'e PlacementDecision,
    /// Whether it is the first of the slice.
    pub(crate) is_from_the_beginning: bool,
    pub(crate) edge: Edge,
}

impl<'e> Decisions<'e> {
    /// Reads all slices.
    pub(crate) fn of(play: &Play<'e>) -> Self {
        let mut lives: BTreeMap<(&str, &str), Vec<&SliceHistory>> = BTreeMap::new();
        for history in play.evidence.slice_histories() {
            let metadata = &history.last().metadata;
            let key = (&*metadata.namespace, &*metadata.name);
            lives.entry(key).or_default().push(history);
        }
        let claims = &play.testbed.consumer;
        let slices = lives.into_values().filter_map(|mut lives| {
            lives.sort_by_key(|life| life.versions.first().map(Version::received));
            let timeline = Timeline::with_absence_before(play.evidence, &lives);
            let is_read = versions(&timeline).any(|(_, slice)| claims.reads_slice(slice));
            Some(Slice {
                is_seen_from_its_creation: lives.first()?.origin == Origin::Created,
                last: lives.last()?.last(),
                timeline,
                is_read,
            })
        });
        Self {
            slices: slices.collect(),
            seen: seen(play),
        }
    }

    /// The slices that the consumer reads.
    pub(crate) fn read(&self) -> impl Iterator<Item = &Slice<'e>> {
        self.slices.iter().filter(|slice| slice.is_read)
    }

    /// When no slice that the consumer reads named a profile.
    pub(crate) fn unnamed(&self, play: &Play<'e>, subject: &Subject<'e>) -> While {
        match While::any(self.read().map(|slice| slice.named(play, subject))) {
            Some(named) => named.not().and(&self.seen),
            None => self.seen.clone(),
        }
    }

    /// When another slice of the same decision was there, too.
    pub(crate) fn has_others(&self, slice: &Slice<'e>) -> Option<While> {
        let others = self
            .read()
            .filter(|other| !std::ptr::eq(*other, slice) && is_one_decision(slice.last, other.last));
        While::any(others.map(|other| other.timeline.while_(|_| true)))
    }

    /// Whether a slice that the consumer does not read named a profile.
    pub(crate) fn is_named_elsewhere(&self, subject: &Subject<'e>) -> bool {
        let mut others = self.slices.iter().filter(|slice| !slice.is_read);
        others.any(|slice| versions(&slice.timeline).any(|(_, version)| names(version, subject)))
    }

    /// When a slice that the consumer reads first named a profile, as the run saw it.
    pub(crate) fn first_naming(&self, play: &Play<'e>, subject: &Subject<'e>) -> Option<Naming<'_, 'e>> {
        let claims = &play.testbed.consumer;
        let is_naming = |version: &PlacementDecision| claims.reads_slice(version) && names(version, subject);
        let namings = self.read().filter_map(|slice| {
            let (run, version) = versions(&slice.timeline).find(|(_, version)| is_naming(version))?;
            let (first, _) = versions(&slice.timeline).next()?;
            let naming = Naming {
                slice,
                version,
                is_from_the_beginning: first.seen_at == run.seen_at,
                edge: run.from,
            };
            Some((run.seen_at, naming))
        });
        let first = namings.min_by_key(|(seen_at, _)| *seen_at);
        first.map(|(_, naming)| naming)
    }

    /// The first moment at which a slice that the consumer reads may have named a profile.
    pub(crate) fn earliest_naming(&self, subject: &Subject<'e>) -> Option<Micros> {
        let runs = self.read().flat_map(|slice| versions(&slice.timeline));
        let naming = runs.filter(|(_, version)| names(version, subject));
        naming.map(|(run, _)| run.from.earliest).min()
    }

    /// Whether a profile has the name of one that a slice names without a namespace, and is in another one.
    pub(crate) fn is_namesake(&self, subject: &Subject<'e>) -> bool {
        let metadata = &subject.last.metadata;
        let mut slices = self
            .read()
            .filter(|slice| *slice.last.metadata.namespace != *metadata.namespace);
        slices.any(|slice| {
            let mut references = versions(&slice.timeline).flat_map(|(_, version)| unresolved(version));
            references.any(|reference| reference.namespace.is_empty() && reference.name == metadata.name)
        })
    }
}

impl<'e> Slice<'e> {
    /// When it named a profile, and the consumer read it.
    pub(crate) fn named(&self, play: &Play<'e>, subject: &Subject<'e>) -> While {
        let claims = &play.testbed.consumer;
        let named = |version: &PlacementDecision| claims.reads_slice(version) && names(version, subject);
        self.timeline.while_(named)
    }

    /// When it named a profile that was not there.
    pub(crate) fn names_missing(&self, play: &Play<'e>) -> Option<While> {
        let references: BTreeSet<ClusterProfileReference> = versions(&self.timeline)
            .flat_map(|(_, version)| version.references())
            .collect();
        While::any(references.iter().filter_map(|reference| {
            let mut subjects = play.subjects().iter();
            let subject = subjects.find(|subject| refers(reference, subject))?;
            let since = Set::of([(subject.came()?, Micros::MAX)]);
            Some(self.named(play, subject).without(&since))
        }))
    }
}

impl<'e> Naming<'_, 'e> {
    /// Whether more is asked of who follows it than to look up a name: it names a profile without its namespace, or one that was
    /// still to come.
    pub(crate) fn is_difficult(&self, play: &Play<'e>) -> bool {
        let mut references = self.version.references();
        unresolved(self.version).any(|reference| reference.namespace.is_empty())
            || references.any(|reference| {
                let mut subjects = play.subjects().iter();
                subjects.any(|subject| refers(&reference, subject) && subject.is_to_come(self.edge.latest))
            })
    }
}

/// The profiles that some slice ever named which the consumer reads.
pub(crate) fn ever_named(evidence: &Evidence, claims: &ConsumerSpec) -> BTreeSet<ClusterProfileReference> {
    let versions = evidence.slice_histories().flat_map(|history| &history.versions);
    let read = versions.filter(|version| claims.reads_slice(&version.object));
    read.flat_map(|version| version.object.references()).collect()
}

/// When no slice can have been there that nobody ever saw, in all namespaces that the consumer reads.
fn seen(play: &Play<'_>) -> While {
    let evidence = play.evidence;
    let in_namespace = |namespace: &str| {
        let window = evidence.header.window;
        let from = window.map_or(Micros::MIN, |window| window.from.as_microsecond());
        // No object has an empty name.
        absent::<PlacementDecision>(evidence, (namespace, ""), &[], from)
    };
    let read = play.testbed.consumer.namespaces.iter();
    let seen = read.map(|namespace| in_namespace(namespace));
    let all = seen.reduce(|all, seen| all.and(&seen));
    all.unwrap_or_else(|| in_namespace(""))
}

/// The versions of a slice, each with its run.
fn versions<'t, 'e>(
    timeline: &'t Timeline<'e, PlacementDecision>,
) -> impl Iterator<Item = (&'t Run<'e, PlacementDecision>, &'e PlacementDecision)> {
    timeline.runs().iter().filter_map(|run| match run.seen {
        Seen::Version(version) => Some((run, &version.object)),
        Seen::Nothing | Seen::Absence => None,
    })
}

/// The references of a slice, as it has them.
fn unresolved(slice: &PlacementDecision) -> impl Iterator<Item = &ClusterProfileReference> {
    let clusters = slice.clusters().iter();
    clusters.filter_map(|one| one.cluster_profile_ref.as_ref())
}

fn names(slice: &PlacementDecision, subject: &Subject<'_>) -> bool {
    slice.references().any(|reference| refers(&reference, subject))
}

fn refers(reference: &ClusterProfileReference, subject: &Subject<'_>) -> bool {
    let metadata = &subject.last.metadata;
    reference.name == metadata.name && reference.namespace == metadata.namespace
}

/// Whether two slices have one key, in one namespace.
fn is_one_decision(one: &PlacementDecision, other: &PlacementDecision) -> bool {
    let key = one.label(LABEL_DECISION_KEY);
    key.is_some()
        && key == other.label(LABEL_DECISION_KEY)
        && one.metadata.namespace == other.metadata.namespace
}
