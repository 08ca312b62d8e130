//! The kinds of evidence, which of them were requested, and their gaps, found by what they concern.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::{LazyLock, OnceLock},
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectRef, Reason, Window, named::named_enum};

named_enum! {
    /// A kind of evidence that rules may need.
    pub enum Kind {
        /// ClusterProfiles, listed.
        Inventory = "inventory",
        /// Namespaces, listed.
        Namespaces = "namespaces",
        /// ClusterProfiles, watched for a window.
        Timeline = "timeline",
        /// Labelled Secrets.
        Secrets = "secrets",
        /// Secrets without the label that hold a kubeconfig, in consumers' namespaces.
        UnlabelledSecrets = "unlabelled-secrets",
        /// The members' own API servers.
        Members = "members",
        /// Credential plugins of access providers (KEP-5339).
        Plugins = "plugins",
        /// The hub's audit log.
        Requests = "requests",
        /// Dry-run writes.
        Probe = "probe",
        /// Hooks that drive the implementation.
        Driver = "driver",
        /// Field ownership (`managedFields`), which a kubectl dump usually lacks.
        Writers = "writers",
        /// PlacementDecisions, listed.
        PlacementDecisions = "placement-decisions",
        /// PlacementDecisions, watched for a window.
        PlacementTimeline = "placement-timeline",
        /// The testbed for a consumer: what the run played there.
        Testbed = "testbed",
        /// Calls of the testbed's members.
        MemberCalls = "member-calls",
        /// Calls of the testbed's credential plugin.
        PluginCalls = "plugin-calls",
        /// What the consumer says in events and in its log, and where credentials of the testbed are found.
        Mentions = "mentions",
        /// What the consumer makes of the testbed's profiles.
        Outputs = "outputs",
    }
}

/// Whether evidence was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Requested {
    /// It was requested. A [`Gap`] records what was unavailable.
    Yes,
    /// It was not requested.
    No(Reason),
}

/// Evidence that was requested but unavailable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The kind of evidence.
    pub kind: Kind,
    /// Start, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// End, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The one object concerned; none means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The reason.
    pub reason: Reason,
}

impl Gap {
    /// A gap in all evidence of a kind, for the whole run.
    pub fn of(kind: Kind, reason: impl Into<Reason>) -> Self {
        Self {
            kind,
            from: None,
            until: None,
            object: None,
            reason: reason.into(),
        }
    }

    /// Limits the gap to a span of time.
    #[must_use]
    pub fn within(self, span: Window) -> Self {
        Self {
            from: Some(span.from),
            until: Some(span.until),
            ..self
        }
    }
}

/// The gaps of a run. Reads and changes like a list; an index finds the gaps of one object.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "Vec<Gap>")]
pub struct Gaps {
    list: Vec<Gap>,
    /// Built at the first query. Any change drops it.
    #[serde(skip)]
    index: OnceLock<BTreeMap<Kind, OfKind>>,
}

#[derive(Clone, Debug, Default)]
struct OfKind {
    all: Vec<usize>,
    whole: Vec<usize>,
    /// The gaps of single objects, by namespace and name.
    by_object: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    times: Spans,
    times_of_whole: Spans,
}

/// From when until when, in microseconds since the epoch.
type Span = (i64, i64);

/// When gaps are.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// In order of their beginnings, each with the latest end of it and those before.
    until_now: Vec<Span>,
    /// In order and apart from each other, without those of no length.
    union: Vec<Span>,
}

static NONE: LazyLock<OfKind> = LazyLock::new(OfKind::default);

impl Spans {
    fn of<'g>(gaps: impl Iterator<Item = &'g Gap>) -> Self {
        let mut until_now: Vec<Span> = gaps.map(Gap::span).collect();
        until_now.sort_unstable();
        let mut union: Vec<Span> = Vec::new();
        for (from, until) in until_now.iter().copied().filter(|(from, until)| from < until) {
            match union.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => union.push((from, until)),
            }
        }
        let mut latest = i64::MIN;
        for (_, until) in &mut until_now {
            latest = latest.max(*until);
            *until = latest;
        }
        Self { until_now, union }
    }

    /// The earliest beginning of those that end at a moment or later.
    pub fn earliest(&self, moment: i64) -> Option<i64> {
        let place = self.until_now.partition_point(|(_, latest)| *latest < moment);
        self.until_now.get(place).map(|(from, _)| *from)
    }

    /// The time in any of them: half-open spans, in order and apart from each other.
    pub fn union(&self) -> &[(i64, i64)] {
        &self.union
    }
}

impl Gap {
    /// From when until when, in microseconds since the epoch. A gap without a beginning or an end goes on for ever there.
    pub fn span(&self) -> (i64, i64) {
        let from = self.from.map_or(i64::MIN, Timestamp::as_microsecond);
        (from, self.until.map_or(i64::MAX, Timestamp::as_microsecond))
    }
}

impl Gaps {
    fn of(&self, kind: Kind) -> &OfKind {
        let index = self.index.get_or_init(|| {
            let mut index: BTreeMap<Kind, OfKind> = BTreeMap::new();
            for (place, gap) in self.list.iter().enumerate() {
                let of_kind = index.entry(gap.kind).or_default();
                of_kind.all.push(place);
                match &gap.object {
                    None => of_kind.whole.push(place),
                    Some(object) => {
                        let names = of_kind.by_object.entry(object.namespace.clone()).or_default();
                        names.entry(object.name.clone()).or_default().push(place);
                    }
                }
            }
            for of_kind in index.values_mut() {
                of_kind.times = Spans::of(self.at(&of_kind.all));
                of_kind.times_of_whole = Spans::of(self.at(&of_kind.whole));
            }
            index
        });
        index.get(&kind).unwrap_or(&NONE)
    }

    /// The gaps of a kind, in their order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        self.at(&self.of(kind).all)
    }

    /// The gaps of a kind that concern no single object, in their order.
    pub fn of_all(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        self.at(&self.of(kind).whole)
    }

    /// The gaps of one object, in their order.
    pub fn of_object(&self, kind: Kind, namespace: &str, name: &str) -> impl Iterator<Item = &Gap> + use<'_> {
        let names = self.of(kind).by_object.get(namespace);
        let places = names.and_then(|names| names.get(name));
        self.at(places.map(Vec::as_slice).unwrap_or_default())
    }

    /// When the gaps of a kind are, whatever they concern.
    pub fn times(&self, kind: Kind) -> &Spans {
        &self.of(kind).times
    }

    /// When the gaps of a kind are that concern all objects.
    pub fn times_of_all(&self, kind: Kind) -> &Spans {
        &self.of(kind).times_of_whole
    }

    /// The gaps of a kind that concern one object: its own, and those of all objects.
    pub fn concerning(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> impl Iterator<Item = &Gap> + use<'_> {
        self.of_all(kind).chain(self.of_object(kind, namespace, name))
    }

    /// Whether a list of a kind may lack objects of a namespace.
    pub fn may_lack(&self, kind: Kind, namespace: &str) -> bool {
        let of_kind = self.of(kind);
        !of_kind.whole.is_empty() || of_kind.by_object.contains_key(namespace)
    }

    fn at<'g>(&'g self, places: &'g [usize]) -> impl Iterator<Item = &'g Gap> + use<'g> {
        places.iter().map(|place| &self.list[*place])
    }
}

impl Deref for Gaps {
    type Target = Vec<Gap>;

    fn deref(&self) -> &Vec<Gap> {
        &self.list
    }
}

impl DerefMut for Gaps {
    fn deref_mut(&mut self) -> &mut Vec<Gap> {
        self.index.take();
        &mut self.list
    }
}

impl From<Vec<Gap>> for Gaps {
    fn from(list: Vec<Gap>) -> Self {
        Self {
            list,
            index: OnceLock::new(),
        }
    }
}

impl FromIterator<Gap> for Gaps {
    fn from_iter<I: IntoIterator<Item = Gap>>(gaps: I) -> Self {
        gaps.into_iter().collect::<Vec<Gap>>().into()
    }
}

impl PartialEq for Gaps {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(kind: Kind, name: Option<&str>, from: i64, until: i64) -> Gap {
        let at = |seconds| Timestamp::from_second(seconds).ok();
        Gap {
            from: at(from),
            until: at(until),
            object: name.map(|name| ObjectRef {
                namespace: "n".to_owned(),
                name: name.to_owned(),
                ..ObjectRef::default()
            }),
            ..Gap::of(kind, "lost")
        }
    }

    fn second(seconds: i64) -> i64 {
        1_000_000 * seconds
    }

    #[test]
    fn gaps_are_found_by_kind_and_object() {
        let mut gaps: Gaps = vec![
            gap(Kind::Timeline, Some("b"), 1, 2),
            gap(Kind::Timeline, None, 7, 9),
            gap(Kind::Requests, None, 1, 2),
            gap(Kind::Timeline, Some("a"), 3, 4),
            gap(Kind::Timeline, None, 5, 8),
            gap(Kind::Members, Some("a"), 3, 4),
            gap(Kind::Timeline, Some("a"), 1, 2),
        ]
        .into();
        let places = |hits: Vec<&Gap>| {
            let place = |hit: &Gap| gaps.iter().position(|gap| std::ptr::eq(gap, hit));
            hits.into_iter().filter_map(place).collect::<Vec<_>>()
        };
        assert_eq!(places(gaps.of_object(Kind::Timeline, "n", "a").collect()), [3, 6]);
        assert!(gaps.of_object(Kind::Timeline, "m", "a").next().is_none());
        assert_eq!(places(gaps.of_all(Kind::Timeline).collect()), [1, 4]);
        assert_eq!(places(gaps.of_kind(Kind::Timeline).collect()), [0, 1, 3, 4, 6]);
        assert!(gaps.may_lack(Kind::Members, "n") && !gaps.may_lack(Kind::Members, "m"));
        assert!(gaps.may_lack(Kind::Requests, "m"));

        gaps.push(gap(Kind::Timeline, Some("a"), 8, 9));
        let count = gaps.of_object(Kind::Timeline, "n", "a").count();
        assert_eq!(count, 3, "a change is seen");
    }

    #[test]
    fn times_of_gaps_are_found() {
        let miss = |from, until| gap(Kind::Timeline, None, from, until);
        let mut gaps: Gaps = vec![miss(7, 9), miss(5, 8), miss(20, 20), miss(1, 2), miss(2, 3)].into();
        let times = gaps.times(Kind::Timeline);
        let union = [(1, 3), (5, 9)].map(|(from, until)| (second(from), second(until)));
        assert_eq!(times.union(), union);
        let earliest = |at| times.earliest(second(at)).map_or(-1, |from| from / 1_000_000);
        let starts = [0, 2, 3, 4, 8, 9, 10, 20, 21].map(earliest);
        assert_eq!(starts, [1, 1, 2, 5, 5, 7, 20, 20, -1]);
        assert_eq!(gaps.times(Kind::Probe).union(), []);

        let whole = gaps.times_of_all(Kind::Timeline);
        assert_eq!(whole.union(), union);
        gaps[3].object = Some(ObjectRef::default());
        let rest = [(second(2), second(3)), union[1]];
        assert_eq!(gaps.times_of_all(Kind::Timeline).union(), rest);
    }
}
