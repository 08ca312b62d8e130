//! The slices of a decision: the objects that they were made for (KEP-5313 › Slicing), the profiles that they name, and
//! their history: which clusters left, and which came back. An interruption of the watch ends a history and begins another.

use evidence::{
    Origin, SliceHistory,
    api::{ClusterDecision, DecisionId, OwnerReference, names},
};

use super::{
    judged::{has_unknown_publisher, key},
    prelude::*,
};
use crate::timeline::{Intervals, Moment};

/// What the slices of a decision have in common: namespace, scheduler, and the key, the owner, or the name.
type CommonKey<'e> = (&'e str, &'e str, &'e str);

pub(super) struct DecisionSlices<'e> {
    key: CommonKey<'e>,
    pub(super) histories: Vec<&'e SliceHistory>,
}

#[derive(Clone, Copy)]
pub(super) struct NamingEntry<'e> {
    pub(super) slice: &'e PlacementDecision,
    pub(super) index: usize,
    pub(super) decision: &'e ClusterDecision,
    pub(super) name: ProfileName<'e>,
}

impl<'e> DecisionSlices<'e> {
    /// The judged slices by decision.
    pub(super) fn all(hub: &Hub<'e>) -> Vec<Self> {
        let decisions = histories_by(hub, common_key).into_iter();
        let decisions = decisions.map(|(key, histories)| Self { key, histories });
        decisions.collect()
    }

    fn holds(&self, slice: &PlacementDecision) -> bool {
        !slice.is_terminating() && common_key(slice) == self.key
    }

    pub(super) fn current(&self) -> impl Iterator<Item = &'e PlacementDecision> {
        self.histories.iter().filter_map(|history| history.current())
    }

    pub(super) fn names_any(&self, history: &'e SliceHistory) -> bool {
        self.entries(history.versions.iter()).next().is_some()
    }

    /// An entry for each profile, and another one if the scheduler excuses some of its choices.
    pub(super) fn distinct_entries(
        &self,
        is_excused: fn(&ClusterDecision) -> bool,
    ) -> impl Iterator<Item = NamingEntry<'e>> {
        let versions = self.histories.iter().flat_map(|history| &history.versions);
        let entries = self.entries(versions);
        let distinct = entries.map(|entry| ((entry.name, is_excused(entry.decision)), entry));
        BTreeMap::from_iter(distinct).into_values()
    }

    fn entries(
        &self,
        versions: impl Iterator<Item = &'e Version<PlacementDecision>>,
    ) -> impl Iterator<Item = NamingEntry<'e>> {
        let slices = versions.map(|version| &version.object);
        slices.filter(|slice| self.holds(slice)).flat_map(naming_entries)
    }

    /// The first entry that names each of some profiles in each moment.
    pub(super) fn entries_of(
        &self,
        timeline: &Timeline<'e, PlacementDecision>,
        names: &BTreeSet<ProfileName<'e>>,
    ) -> BTreeMap<ProfileName<'e>, Vec<Option<NamingEntry<'e>>>> {
        let count = timeline.moments().len();
        let mut by_name: BTreeMap<_, _> = names.iter().map(|name| (*name, vec![None; count])).collect();
        for place in 0..count {
            let versions = timeline.objects(place).unwrap_or_default();
            for entry in self.entries(versions.iter().copied()) {
                let Some(places) = by_name.get_mut(&entry.name) else {
                    continue;
                };
                let place_of = |entry: &NamingEntry<'e>| (&*entry.slice.metadata.name, entry.index);
                let is_first = |first: &NamingEntry<'e>| place_of(&entry) < place_of(first);
                if places[place].as_ref().is_none_or(is_first) {
                    places[place] = Some(entry);
                }
            }
        }
        by_name
    }

    pub(super) fn has_unknown_publisher(&self, hub: &Hub<'e>, slice: &PlacementDecision) -> bool {
        let mut histories = self.histories.iter();
        let history = histories.find(|history| history.last().metadata.uid == slice.metadata.uid);
        history.is_some_and(|history| has_unknown_publisher(hub.slice_authors(), history))
    }
}

/// The judged slices by each key that they had in any version.
pub(super) fn histories_by<'e, K: Ord + Copy>(
    hub: &Hub<'e>,
    key: fn(&'e PlacementDecision) -> K,
) -> BTreeMap<K, Vec<&'e SliceHistory>> {
    let mut by_key: BTreeMap<K, Vec<&SliceHistory>> = BTreeMap::new();
    for history in hub.slices().iter().flat_map(|object| &object.histories) {
        for key in BTreeSet::from_iter(history.objects().map(key)) {
            by_key.entry(key).or_default().push(history);
        }
    }
    by_key
}

/// The entries of a slice that name a profile. Without a namespace, the profile is in that of the slice.
pub(super) fn naming_entries(slice: &PlacementDecision) -> impl Iterator<Item = NamingEntry<'_>> {
    let decisions = slice.clusters().iter().enumerate();
    decisions.filter_map(move |(index, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        if reference.name.is_empty() {
            return None;
        }
        let namespace = match &*reference.namespace {
            "" => &slice.metadata.namespace,
            _ => &reference.namespace,
        };
        Some(NamingEntry {
            slice,
            index,
            decision,
            name: (namespace, &reference.name),
        })
    })
}

fn common_key(slice: &PlacementDecision) -> CommonKey<'_> {
    let key = slice
        .label(names::LABEL_DECISION_KEY)
        .filter(|key| !key.is_empty());
    let key = key.or_else(|| owner_uid(slice)).unwrap_or(&slice.metadata.name);
    (&slice.metadata.namespace, slice.scheduler(), key)
}

pub(crate) type ProfileName<'e> = (&'e str, &'e str);

/// All profiles, in scope or not: a decision may name any.
pub(super) struct NamedProfiles<'e> {
    evidence: &'e Evidence,
    histories: HashMap<ProfileName<'e>, Vec<&'e ProfileHistory>>,
    /// When the profiles were first listed.
    listed_at: Micros,
}

impl<'e> NamedProfiles<'e> {
    pub(super) fn of(hub: &Hub<'e>) -> Self {
        let evidence = hub.evidence;
        let mut histories: HashMap<ProfileName, Vec<&ProfileHistory>> = HashMap::default();
        for history in &evidence.profiles {
            histories.entry(key(history)).or_default().push(history);
        }
        Self {
            evidence,
            histories,
            listed_at: listed_at(evidence),
        }
    }

    /// Whether a conformance run made or changed the profile.
    pub(super) fn is_of_run(&self, (namespace, name): ProfileName) -> bool {
        self.evidence.is_touched(namespace, name)
    }

    pub(super) fn histories(&self, name: ProfileName<'e>) -> &[&'e ProfileHistory] {
        self.histories.get(&name).map_or(&[], Vec::as_slice)
    }

    /// The profile of that name that was not deleted.
    pub(super) fn current(&self, name: ProfileName<'e>) -> Option<&'e ClusterProfile> {
        self.histories(name).iter().find_map(|history| history.current())
    }

    /// Whether one profile of that name existed from the first list to the end.
    pub(super) fn is_always_there(&self, name: ProfileName<'e>) -> bool {
        let mut histories = self.histories(name).iter();
        histories.any(|history| history.origin == Origin::Listed && history.deleted.is_none())
    }

    pub(super) fn timeline(&self, name: ProfileName<'e>) -> Timeline<'e, ClusterProfile> {
        Timeline::of_key(self.evidence, name, self.histories(name))
    }

    /// When something was so of the profile of a name. Before the first list, its absence is unknown.
    pub(super) fn intervals(
        &self,
        timeline: &Timeline<'e, ClusterProfile>,
        holds: impl Fn(usize) -> bool,
    ) -> Intervals {
        let intervals = timeline.intervals(holds);
        let first = timeline.moments().iter().position(Moment::is_observed);
        match first.filter(|first| timeline.object(*first).is_none()) {
            Some(_) => intervals.unknown_before(self.listed_at),
            None => intervals,
        }
    }

    /// Why a profile of that name may exist although the run did not read it, if so.
    pub(super) fn why_unknown(&self, (namespace, name): ProfileName) -> Option<&'static str> {
        if !self.evidence.header.scope.holds_namespace(namespace) {
            Some("the run did not list the ClusterProfiles of that namespace")
        } else if self.evidence.may_be_unread(names::KIND, name) {
            Some("a ClusterProfile that could not be read may have that name")
        } else {
            let is_incomplete = self.evidence.gaps.may_lack(Kind::Inventory, namespace);
            is_incomplete.then_some("the list of ClusterProfiles has a gap")
        }
    }
}

/// When the last profile of the first list was read, or when the window began.
fn listed_at(evidence: &Evidence) -> Micros {
    let Some(window) = evidence.header.window else {
        return Micros::MIN;
    };
    let profiles = evidence.profiles.iter();
    let histories = profiles.filter(|history| history.origin == Origin::Listed);
    let times = histories.map(|history| history.versions[0].received());
    let times = times.filter(|time| *time <= window.until);
    times.fold(window.from, Timestamp::max).as_microsecond()
}

/// The object for which a slice was made: its controller or, if none is marked as such, its only owner.
pub(crate) fn owner_of(slice: &PlacementDecision) -> Option<&OwnerReference> {
    let owners: Vec<&OwnerReference> = owners(slice).collect();
    let owner = match &*owners {
        [only] => only,
        _ => owners.iter().find(|owner| owner.controller == Some(true))?,
    };
    Some(*owner).filter(|owner| !owner.uid.is_empty())
}

/// The uid of the object for which a slice was made.
pub(crate) fn owner_uid(slice: &PlacementDecision) -> Option<&str> {
    owner_of(slice).map(|owner| &*owner.uid)
}

/// Whether slices with one key have different owners: they are two decisions.
pub(crate) fn have_two_owners(slices: &[&PlacementDecision]) -> bool {
    let owners = slices.iter().map(|slice| owner_uids(slice));
    let owners: Vec<BTreeSet<&str>> = owners.filter(|owners| !owners.is_empty()).collect();
    let first = owners.first();
    first.is_some_and(|first| owners.iter().any(|other| first.is_disjoint(other)))
}

fn owner_uids(slice: &PlacementDecision) -> BTreeSet<&str> {
    let uids = owners(slice).map(|owner| &*owner.uid);
    uids.filter(|uid| !uid.is_empty()).collect()
}

/// The owners of a slice, without its counterpart in the scheduler's own API: that has the slice's kind and name. A scheduler
/// that copies its decisions owns each slice by another object, whatever request they are for. Open Cluster Management
/// does.
fn owners(slice: &PlacementDecision) -> impl Iterator<Item = &OwnerReference> {
    let is_counterpart =
        |owner: &OwnerReference| *owner.kind == *names::PLACEMENT_KIND && owner.name == slice.metadata.name;
    let owners = slice.metadata.owner_references.iter();
    owners.filter(move |owner| !is_counterpart(owner))
}

/// The time in which a cluster was in no slice of its decision.
pub(crate) struct Absence<'e> {
    pub(crate) cluster: ProfileName<'e>,
    /// The last slice that had the cluster, in its last version with it.
    pub(crate) slice: &'e PlacementDecision,
    /// When that slice lost the cluster, or began to wait for its finalizers.
    pub(crate) since: Micros,
    /// The slice that has the cluster again, and since when.
    pub(crate) back: Option<(&'e PlacementDecision, Micros)>,
    /// Whether the decision had no slice at some time in between.
    pub(crate) was_without_slices: bool,
}

/// The history of a decision between two interruptions of the watch.
pub(crate) struct DecisionHistory<'e> {
    pub(crate) id: DecisionId<'e>,
    pub(crate) changes: usize,
    /// In the order in which the clusters left.
    pub(crate) absences: Vec<Absence<'e>>,
    pub(crate) end: Micros,
    clusters: SlicesOfClusters<'e>,
    /// The places of the absences that have not ended.
    open: BTreeMap<ProfileName<'e>, usize>,
    /// When slices were first seen to wait for their finalizers, by uid.
    terminating: HashMap<&'e str, Micros>,
}

pub(crate) fn history(check: fn(&DecisionHistory) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        for (id, histories) in histories_by(hub, DecisionId::of) {
            let timeline = Timeline::of_group(hub.evidence, &histories, |_, _| false);
            let mut answer = Answer::each(&uninterrupted_histories(hub, id, &timeline), check);
            let is_unknown = |history: &&SliceHistory| has_unknown_publisher(hub.slice_authors(), history);
            if histories.iter().any(is_unknown) {
                answer = answer.as_warning();
            }
            if matches!(answer, Answer::Unknown(_)) {
                let slices = histories.iter().filter_map(|history| history.current());
                slices.for_each(|slice| slice.wait_for(findings));
            }
            findings.count(answer);
        }
    }
}

/// In how many slices each cluster is, and one of them.
type SlicesOfClusters<'e> = BTreeMap<ProfileName<'e>, (usize, &'e PlacementDecision)>;

fn clusters<'e>(slices: &[&'e PlacementDecision]) -> SlicesOfClusters<'e> {
    let mut clusters = SlicesOfClusters::new();
    for slice in slices {
        for entry in naming_entries(slice) {
            let counter = clusters.entry(entry.name).or_insert((0, *slice));
            *counter = (counter.0 + 1, *slice);
        }
    }
    clusters
}

impl<'e> DecisionHistory<'e> {
    fn begin(id: DecisionId<'e>, slices: &[&'e PlacementDecision], end: Micros) -> Self {
        // What is terminating at the beginning may have been so for long.
        let terminating = slices.iter().filter(|slice| slice.is_terminating());
        Self {
            id,
            changes: 0,
            absences: Vec::new(),
            end,
            clusters: clusters(slices),
            open: BTreeMap::new(),
            terminating: terminating.map(|slice| (&*slice.metadata.uid, 0)).collect(),
        }
    }

    fn advance(&mut self, slices: &[&'e PlacementDecision], at: Micros) {
        for slice in slices.iter().filter(|slice| slice.is_terminating()) {
            self.terminating.entry(&slice.metadata.uid).or_insert(at);
        }
        let now = clusters(slices);
        let before = self.clusters.iter().map(|(cluster, (count, _))| (cluster, count));
        let is_same = before.eq(now.iter().map(|(cluster, (count, _))| (cluster, count)));
        self.changes += usize::from(!is_same);
        if slices.is_empty() {
            for place in self.open.values() {
                self.absences[*place].was_without_slices = true;
            }
        }
        for (cluster, (_, slice)) in &now {
            if let Some(place) = self.open.remove(cluster) {
                self.absences[place].back = Some((*slice, at));
            }
        }
        let absent = self
            .clusters
            .iter()
            .filter(|(cluster, _)| !now.contains_key(*cluster));
        for (cluster, (_, slice)) in absent {
            self.open.insert(*cluster, self.absences.len());
            self.absences.push(Absence {
                cluster: *cluster,
                slice,
                since: *self.terminating.get(&*slice.metadata.uid).unwrap_or(&at),
                back: None,
                was_without_slices: slices.is_empty(),
            });
        }
        self.clusters = now;
    }
}

/// The histories of a decision, one for each time without an interruption. An absence that begins after the window does
/// not count.
fn uninterrupted_histories<'e>(
    hub: &Hub<'e>,
    id: DecisionId<'e>,
    timeline: &Timeline<'e, PlacementDecision>,
) -> Vec<DecisionHistory<'e>> {
    let mut histories: Vec<DecisionHistory> = Vec::new();
    let mut current: Option<DecisionHistory> = None;
    for (place, moment) in timeline.moments().iter().enumerate() {
        let Some(slices) = timeline.objects(place) else {
            let end = moment.seen_at;
            histories.extend(current.take().map(|history| DecisionHistory { end, ..history }));
            continue;
        };
        let slices = slices.iter().map(|version| &version.object);
        let present: Vec<&PlacementDecision> = slices.filter(|slice| DecisionId::of(slice) == id).collect();
        let begin = || DecisionHistory::begin(id, &present, timeline.end());
        current
            .get_or_insert_with(begin)
            .advance(&present, moment.seen_at);
    }
    histories.extend(current);
    let window_end = end(hub.evidence).unwrap_or(Micros::MAX);
    for history in &mut histories {
        history.absences.retain(|absence| absence.since <= window_end);
    }
    histories
}
