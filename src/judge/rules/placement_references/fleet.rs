//! The profiles of the hub by name: when each existed, and whether the run would have seen it.

use std::collections::{HashMap, HashSet};

use evidence::{Asked, Evidence, Gap, Kind, Origin, ProfileHistory, Shard, SliceHistory, api::names};

use super::{
    doubts::Doubt,
    faults::Stretch,
    naming::{Key, Named},
    spans::{Span, within, without},
};
use crate::{
    rules::write_time::{Micros, written},
    time::span_of,
};

/// The profiles of the hub, in scope or not: a decision may name any.
pub(super) struct Fleet<'e> {
    evidence: &'e Evidence,
    histories: HashMap<Key<'e>, Vec<&'e ProfileHistory>>,
    /// When the profiles of the first list were read, in order.
    listed: Vec<Micros>,
    /// The names of profiles that could not be read.
    unread: HashSet<&'e str>,
    /// The gaps in the list of profiles.
    unlisted: Vec<&'e Gap>,
    /// Whether the watch of profiles has gaps at all.
    has_gaps: bool,
    /// Whether the run watched both profiles and slices. The two lists of a single look are not one moment.
    pub(super) is_watched: bool,
}

impl<'e> Fleet<'e> {
    /// Groups the profiles by name.
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let mut histories: HashMap<Key<'e>, Vec<&ProfileHistory>> =
            HashMap::with_capacity(evidence.profiles.len());
        for history in &evidence.profiles {
            let metadata = &history.last().metadata;
            let key: Key = (&metadata.namespace, &metadata.name);
            histories.entry(key).or_default().push(history);
        }
        let listed = evidence
            .profiles
            .iter()
            .filter(|history| history.origin == Origin::Listed);
        let mut listed: Vec<Micros> = listed
            .map(|history| history.versions[0].at.as_microsecond())
            .collect();
        listed.sort_unstable();
        let unread = evidence.unreadable.iter().map(|unreadable| &unreadable.object);
        let unread = unread.filter(|object| object.kind.is_empty() || object.kind == names::KIND);
        let is_watched = |kind| *evidence.asked(kind) == Asked::Yes;
        Self {
            evidence,
            histories,
            listed,
            unread: unread.map(|object| &*object.name).collect(),
            unlisted: evidence.gaps(Kind::Inventory).collect(),
            has_gaps: evidence.gaps(Kind::Timeline).next().is_some(),
            is_watched: is_watched(Kind::Timeline) && is_watched(Kind::PlacementTimeline),
        }
    }

    /// The profiles that had that name, one after the other.
    pub(super) fn histories(&self, key: Key<'e>) -> &[&'e ProfileHistory] {
        self.histories.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Whether a profile of that name existed from the first list to the end. Gaps do not matter: it was seen on both
    /// sides.
    pub(super) fn is_always_there(&self, key: Key<'e>) -> bool {
        let mut histories = self.histories(key).iter();
        histories.any(|history| history.origin == Origin::Listed && history.deleted.is_none())
    }

    /// Whether the run saw a profile of that name.
    pub(super) fn is_known(&self, key: Key<'e>) -> bool {
        self.histories.contains_key(&key)
    }

    /// Whether a profile of that name exists.
    pub(super) fn exists(&self, key: Key<'e>) -> bool {
        self.histories(key)
            .iter()
            .any(|history| history.deleted.is_none())
    }

    /// Why there may be a profile of that name though the run saw none, if so.
    pub(super) fn doubt(&self, (namespace, name): Key<'e>) -> Option<Doubt> {
        if !self.evidence.header.scope.holds_namespace(namespace) {
            return Some(Doubt::NotListed);
        }
        // The name of an unreadable object may be unknown.
        if self.unread.contains("") || self.unread.contains(name) {
            return Some(Doubt::Unread);
        }
        let merged_from = self.evidence.merged_from();
        let concerns = |gap: &Gap| {
            let is_of_share = match (gap.share, merged_from) {
                (Some(share), Some(count)) => Shard::index_of(namespace, count) == share,
                _ => true,
            };
            let of_object = gap.object.as_ref();
            is_of_share && of_object.is_none_or(|object| object.namespace == namespace)
        };
        let is_unlisted = self.unlisted.iter().any(|gap| concerns(gap));
        is_unlisted.then_some(Doubt::Incomplete)
    }

    /// When profiles of that name existed, in order.
    pub(super) fn existence(&self, key: Key<'e>) -> Vec<Span> {
        let histories = self.histories(key).iter();
        let mut spans: Vec<Span> = histories
            .map(|history| {
                let seen = history.versions[0].at.as_microsecond();
                let from = match history.origin {
                    Origin::Listed => Micros::MIN,
                    Origin::Created => written(self.evidence, None, &history.versions[0]),
                    Origin::Relisted => self.gap_before(key, seen),
                };
                let deleted = history.deleted.map(|deleted| deleted.as_microsecond());
                (from, deleted.unwrap_or(Micros::MAX))
            })
            .collect();
        spans.sort_unstable();
        spans
    }

    /// Since when a decision may have named what a slice was first seen to name: a slice that a list showed is older.
    pub(super) fn named_since(&self, history: &SliceHistory, from: Micros) -> Micros {
        let is_first = history.versions[0].at.as_microsecond() == from;
        match history.origin {
            Origin::Listed if is_first => Micros::MIN,
            // It came within a gap, or late at the end of one.
            Origin::Relisted | Origin::Created if is_first => {
                let gaps = gaps_of_slices(self.evidence, &history.last().metadata.namespace);
                let around = gaps.iter().filter(|gap| gap.0 <= from && from <= gap.1);
                around.map(|gap| gap.0).max().unwrap_or(from)
            }
            _ => from,
        }
    }

    /// When the last profile of that name that was gone by then was deleted.
    pub(super) fn gone_since(&self, key: Key<'e>, at: Micros) -> Option<Micros> {
        let deleted = self.histories(key).iter().filter_map(|history| history.deleted);
        let deleted = deleted.map(|deleted| deleted.as_microsecond());
        deleted.filter(|deleted| *deleted <= at).max()
    }

    /// When the gap began in which a profile appeared that was then seen in a later list.
    fn gap_before(&self, key: Key<'e>, seen: Micros) -> Micros {
        let gaps = self.gaps_of(key).into_iter();
        let before = gaps.map(|gap| gap.0).filter(|from| *from <= seen);
        before.max().unwrap_or(seen)
    }

    /// The gaps in the timeline of the profiles of that name, in order.
    fn gaps_of(&self, (namespace, name): Key<'e>) -> Vec<Span> {
        if !self.has_gaps {
            return Vec::new();
        }
        let gaps = self.evidence.timeline_gaps_of(namespace, name);
        let mut gaps: Vec<Span> = gaps.map(span_of).collect();
        gaps.sort_unstable();
        gaps
    }

    /// The span in which the run watched the profiles of a namespace: from when the first list was read.
    fn watched(&self, namespace: &str) -> Span {
        let Some(window) = self.evidence.window_of(namespace) else {
            return (Micros::MIN, Micros::MAX);
        };
        let (from, until) = (window.from.as_microsecond(), window.until.as_microsecond());
        let read = self.listed.partition_point(|at| *at <= until);
        let read = read.checked_sub(1).map(|last| self.listed[last]);
        (read.unwrap_or(from).max(from), until)
    }

    /// The parts of the time in which a slice named a profile that both watches confirm.
    pub(super) fn confirmed(&self, slice: &Watched, named: &Named<'e>) -> Confirmed {
        let key = named.key;
        let mut gaps = slice.gaps.clone();
        gaps.extend(self.gaps_of(key));
        for (from, until) in &mut gaps {
            // A gap of no length may hide something as well.
            *until = until.saturating_add(Micros::from(from == until));
        }
        gaps.sort_unstable();
        let watched = self.watched(key.0);
        let spans = without(&within(&named.spans, &[watched]), &gaps);
        let end = watched.1.min(slice.end);
        let lasts = |spans: &[Span]| spans.last().is_some_and(|span| span.1 >= end);
        Confirmed {
            unconfirmed: (lasts(&named.spans) && !lasts(&spans)).then_some(end),
            spans,
            gaps,
            begins: [watched.0, slice.first],
            ends: [watched.1, slice.end],
        }
    }
}

/// What the watch of slices saw of one.
pub(super) struct Watched {
    /// When it was first seen, if it is older than that; the beginning of time if its creation was seen.
    first: Micros,
    /// When the run stopped looking at it.
    end: Micros,
    gaps: Vec<Span>,
}

impl Watched {
    /// What the watch saw of a slice.
    pub(super) fn of(evidence: &Evidence, history: &SliceHistory) -> Self {
        let namespace = &*history.last().metadata.namespace;
        let is_older = history.origin != Origin::Created;
        let first = is_older.then(|| history.versions[0].at.as_microsecond());
        let end = evidence.end_of(namespace).map(|end| end.as_microsecond());
        Self {
            first: first.unwrap_or(Micros::MIN),
            end: end.unwrap_or(Micros::MAX),
            gaps: gaps_of_slices(evidence, namespace),
        }
    }
}

/// The confirmed time of a reference.
pub(super) struct Confirmed {
    spans: Vec<Span>,
    /// The end of the run, if a gap hides whether the reference lasted until then. It was not seen to go.
    unconfirmed: Option<Micros>,
    gaps: Vec<Span>,
    /// When the watches of the profile and of the slice began, if these are older.
    begins: [Micros; 2],
    /// When the watches ended.
    ends: [Micros; 2],
}

impl Confirmed {
    /// The stretches of confirmed time outside of some spans.
    pub(super) fn without(&self, others: &[Span]) -> Vec<Stretch> {
        self.stretches(|spans| without(spans, others))
    }

    /// The stretches of confirmed time within some spans.
    pub(super) fn within(&self, others: &[Span]) -> Vec<Stretch> {
        self.stretches(|spans| within(spans, others))
    }

    fn stretches(&self, part: impl Fn(&[Span]) -> Vec<Span>) -> Vec<Stretch> {
        let stretch = |span: Span| Stretch {
            span,
            is_older: self.begins.contains(&span.0) || self.gaps.iter().any(|gap| gap.1 == span.0),
            is_open: self.ends.contains(&span.1) || self.gaps.iter().any(|gap| gap.0 == span.1),
        };
        let mut stretches: Vec<Stretch> = part(&self.spans).into_iter().map(stretch).collect();
        let end = self.unconfirmed.map(|end| (end.saturating_sub(1), end));
        if let Some((_, end)) = end.and_then(|moment| part(&[moment]).pop()) {
            stretches.push(Stretch {
                span: (end, end),
                is_older: true,
                is_open: true,
            });
        }
        stretches
    }
}

/// The gaps in the timeline of a namespace's slices, in order.
fn gaps_of_slices(evidence: &Evidence, namespace: &str) -> Vec<Span> {
    let gaps = evidence.gaps(Kind::PlacementTimeline).filter(|gap| {
        let object = gap.object.as_ref();
        object.is_none_or(|object| object.namespace == namespace)
    });
    let mut gaps: Vec<Span> = gaps.map(span_of).collect();
    gaps.sort_unstable();
    gaps
}
