//! Which objects are judged, from when on they no longer are, and the fields in which their versions differ.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    DriverAction, Evidence, History, ObjectKey, Requests, Tracked, Version,
    api::{ClusterProfile, Labels, PlacementDecision, Role},
};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    Hub,
    author::{Attribution, Author, Authors, requests},
};
use crate::{
    hash::{HashMap, HashSet},
    subjects::Findings,
    text::redacted,
    time::Micros,
    timeline::{Certainty, Timeline},
};

/// An object that is judged: one namespace and name, which may be deleted and created again.
pub(crate) struct JudgedObject<'e, T> {
    /// Its histories, at least one, in the order of their first appearance.
    pub(crate) lives: Vec<&'e History<T>>,
    /// The run's first write to the object. It is not judged from then on.
    pub(crate) first_touch: Option<Micros>,
}

pub(crate) trait Judged: Tracked + Serialize {
    /// The role that publishes objects of this kind.
    const ROLE: Role;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>];

    /// The judged objects, and slices in scope that other clients publish.
    fn in_scope<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        Self::judged(hub)
    }

    /// The histories that judged objects are compared with: the judged ones, and profiles of other managers, but no slices
    /// of other schedulers, and not what a conformance run made.
    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>>;

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e>;

    fn log(evidence: &Evidence) -> Option<&Requests> {
        requests(evidence, Self::ROLE.objects()).0
    }

    /// Records that an object has a violation that was open at the end.
    fn wait_for(&self, findings: &mut Findings);

    fn has_other_status(&self, before: &Self) -> bool;

    /// The fields in which two versions differ.
    fn changed_fields(&self, before: &Self) -> BTreeSet<String>;

    /// Whether the object waits for its finalizers.
    fn is_terminating(&self) -> bool {
        self.metadata().deletion_timestamp.is_some()
    }
}

impl Judged for ClusterProfile {
    const ROLE: Role = Role::Manager;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        hub.profiles()
    }

    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>> {
        let evidence = hub.evidence;
        let judged: HashSet<(&str, &str)> = hub.profiles().iter().map(JudgedObject::name).collect();
        let is_made_by_run = |life: &&History<Self>| {
            let (namespace, name) = key(life);
            evidence.is_touched(namespace, name) && !judged.contains(&(namespace, name))
        };
        evidence
            .profiles
            .iter()
            .filter(|life| !is_made_by_run(life))
            .collect()
    }

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e> {
        hub.profile_authors()
    }

    fn wait_for(&self, findings: &mut Findings) {
        findings.wait_for_profile(&self.metadata.namespace, &self.metadata.name);
    }

    fn has_other_status(&self, before: &Self) -> bool {
        self.status != before.status
    }

    fn changed_fields(&self, before: &Self) -> BTreeSet<String> {
        changed_fields(before, self)
    }
}

impl Judged for PlacementDecision {
    const ROLE: Role = Role::Scheduler;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        hub.slices()
    }

    fn in_scope<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        hub.slices_in_scope()
    }

    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>> {
        let objects = hub.slices().iter();
        objects.flat_map(|object| object.lives.iter().copied()).collect()
    }

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e> {
        hub.slice_authors()
    }

    fn wait_for(&self, findings: &mut Findings) {
        findings.wait_for_slice(&self.object_ref());
    }

    /// A slice has no status.
    fn has_other_status(&self, _: &Self) -> bool {
        false
    }

    fn changed_fields(&self, before: &Self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        if self.decisions != before.decisions {
            fields.insert("decisions".to_owned());
        }
        if self.scheduler_name != before.scheduler_name {
            fields.insert("schedulerName".to_owned());
        }
        let (old, new) = (&before.metadata.labels, &self.metadata.labels);
        let keys = old.iter().chain(new.iter()).map(|(key, _)| key);
        let changed = keys.filter(|key| old.get(*key) != new.get(*key));
        fields.extend(changed.map(|key| format!("metadata.labels[{}]", redacted(key))));
        fields
    }
}

impl<'e, T: Judged> JudgedObject<'e, T> {
    pub(crate) fn name(&self) -> (&'e str, &'e str) {
        key(self.lives[0])
    }

    /// The object over time, up to the run's first write.
    pub(super) fn timeline(&self, hub: &Hub<'e>) -> Timeline<'e, T> {
        let timeline = Timeline::of_name(hub.evidence, &self.lives);
        match self.first_touch {
            Some(touch) => timeline.until(touch),
            None => timeline,
        }
    }

    /// Whether something held of the object, or of its absence, throughout the last time of that length before the end.
    pub(crate) fn throughout_the_last(
        &self,
        length: Micros,
        hub: &Hub<'e>,
        holds: impl Fn(Option<&'e T>) -> bool,
    ) -> Certainty {
        let timeline = Timeline::of_name(hub.evidence, &self.lives);
        let holds = |place| holds(timeline.object(place));
        timeline.intervals(holds).throughout_the_last(length)
    }

    /// The object that was not deleted.
    pub(super) fn current(&self) -> Option<&'e T> {
        self.lives.iter().find_map(|life| life.current())
    }

    /// Whether the run created it.
    pub(crate) fn is_of_run(&self) -> bool {
        self.first_touch == Some(Micros::MIN)
    }

    /// The object as last seen before a moment; none if it was absent.
    pub(crate) fn last_before(&self, at: Timestamp) -> Option<&'e T> {
        let seen = |life: &'e History<T>| {
            let versions = life.versions.iter().take_while(|version| version.received() < at);
            let is_gone = life.deleted.is_some_and(|deleted| deleted < at);
            versions
                .last()
                .filter(|_| !is_gone)
                .map(|version| &version.object)
        };
        self.lives.iter().find_map(|life| seen(life))
    }

    /// The versions of a history that are judged.
    pub(super) fn judged_versions(&self, life: &'e History<T>) -> impl Iterator<Item = &'e Version<T>> + '_ {
        life.versions
            .iter()
            .filter(|version| self.judges(version.received()))
    }

    /// Whether a version that arrived then is judged.
    pub(super) fn judges(&self, received: Timestamp) -> bool {
        self.first_touch
            .is_none_or(|touch| received.as_microsecond() < touch)
    }
}

/// Whether something holds of any version of any object.
pub(super) fn is_any<T: Tracked>(evidence: &Evidence, holds: impl Fn(&T) -> bool) -> bool {
    let mut versions = T::histories(evidence).iter().flat_map(|life| &life.versions);
    versions.any(|version| holds(&version.object))
}

/// The profiles in scope, with those that the run touched up to then.
pub(super) fn judged_profiles(evidence: &Evidence) -> Vec<JudgedObject<'_, ClusterProfile>> {
    let scope = &evidence.header.scope;
    let touches = first_touches(evidence);
    let lives = evidence.profiles.iter().filter(|life| {
        let is_in_scope = || life.versions.iter().any(|version| scope.holds(&version.object));
        evidence.judges_history(life) || (touches.contains_key(&key(life)) && is_in_scope())
    });
    by_name(lives, &touches)
}

/// The slices in scope that the run did not touch.
pub(super) fn slices_in_scope(evidence: &Evidence) -> Vec<JudgedObject<'_, PlacementDecision>> {
    by_name(evidence.slice_histories(), &BTreeMap::new())
}

/// The slices in scope that the run did not touch, without those that another client is known to publish: replicators,
/// backup tools, and people copy slices with all that a scheduler wrote.
pub(super) fn judged_slices<'e>(
    evidence: &'e Evidence,
    authors: &Authors<'e>,
) -> Vec<JudgedObject<'e, PlacementDecision>> {
    let lives = evidence.slice_histories();
    let published = lives.filter(|life| !publisher(authors, life).is_of_others());
    by_name(published, &BTreeMap::new())
}

/// The publisher of a slice: its creator or, if that is unknown, the owner of its scheduler's name or of its decisions.
fn publisher<'e>(authors: &Authors<'e>, life: &'e History<PlacementDecision>) -> Attribution<'e> {
    let is_known = |by: &Attribution| !matches!(by.author, Author::Unknown(_));
    let creator = authors.of_creation(life);
    if is_known(&creator) {
        return creator;
    }
    let owners = ["schedulerName", "decisions"].map(|field| authors.of_listed(life.last(), field));
    let by_name = |by: &Attribution| is_known(by) || !by.names.is_empty();
    owners.into_iter().find(by_name).unwrap_or(creator)
}

/// Whether several programs publish slices, and the evidence does not show which of them is the scheduler.
pub(super) fn has_unknown_publisher<'e>(authors: &Authors<'e>, life: &'e History<PlacementDecision>) -> bool {
    let publisher = publisher(authors, life);
    matches!(publisher.author, Author::Unknown(_)) && !publisher.names.is_empty()
}

pub(super) fn by_name<'e, T: Tracked>(
    lives: impl Iterator<Item = &'e History<T>>,
    touches: &BTreeMap<(&str, &str), Micros>,
) -> Vec<JudgedObject<'e, T>> {
    let mut objects: Vec<JudgedObject<'e, T>> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::default();
    for life in lives {
        let place = *places.entry(key(life)).or_insert(objects.len());
        match objects.get_mut(place) {
            Some(object) => object.lives.push(life),
            None => objects.push(JudgedObject {
                lives: vec![life],
                first_touch: touches.get(&key(life)).copied(),
            }),
        }
    }
    objects
}

/// When the run first wrote to each profile that it touched. Profiles that the run created are left out, as are those of
/// other runs, and those that no step names.
fn first_touches(evidence: &Evidence) -> BTreeMap<(&str, &str), Micros> {
    let Some(driver) = &evidence.driver else {
        return BTreeMap::new();
    };
    let mut touches: BTreeMap<(&str, &str), Micros> = BTreeMap::new();
    for step in driver.steps.iter().filter(|step| step.action.is_mutation()) {
        let Some(object) = &step.profile else { continue };
        let key = ObjectKey::from(object);
        if !driver.touched.contains(&key) || evidence.header.other_runs.contains(&key) {
            continue;
        }
        // What the run created, it touched from the beginning.
        let at = match step.action {
            DriverAction::PutForeignProfile => Micros::MIN,
            _ => step.from.as_microsecond(),
        };
        let first = touches.entry((&object.namespace, &object.name)).or_insert(at);
        *first = at.min(*first);
    }
    touches
}

pub(super) fn key<T: Tracked>(life: &History<T>) -> (&str, &str) {
    let metadata = life.last().metadata();
    (&metadata.namespace, &metadata.name)
}

/// Whether a field of an object belongs to its status.
pub(crate) fn is_status(field: &str) -> bool {
    field == "status" || field.starts_with("status.")
}

/// The paths of the fields in which two versions differ, in order.
pub(crate) fn changed_fields(before: &ClusterProfile, after: &ClusterProfile) -> BTreeSet<String> {
    let (old, new) = (&before.metadata, &after.metadata);
    let mut fields = changed_labels("metadata.labels", &old.labels, &new.labels);
    fields.extend(changed_labels(
        "metadata.annotations",
        &old.annotations,
        &new.annotations,
    ));
    let (old, new) = (&before.status, &after.status);
    let singles = [
        (
            "spec.displayName",
            before.spec.display_name == after.spec.display_name,
        ),
        (
            "spec.clusterManager",
            before.spec.cluster_manager == after.spec.cluster_manager,
        ),
        ("status.version", old.version == new.version),
    ];
    let changed = singles.into_iter().filter(|(_, is_same)| !is_same);
    fields.extend(changed.map(|(path, _)| path.to_owned()));
    let (properties, conditions) = ("status.properties", "status.conditions");
    fields.extend(changed_items(
        properties,
        &old.properties,
        &new.properties,
        |item| &item.name,
    ));
    fields.extend(changed_items(
        conditions,
        &old.conditions,
        &new.conditions,
        |item| &item.kind,
    ));
    let (access, deprecated) = ("status.accessProviders", "status.credentialProviders");
    let (one, other) = (&old.access_providers, &new.access_providers);
    fields.extend(changed_items(access, one, other, |item| &item.name));
    let (one, other) = (&old.credential_providers, &new.credential_providers);
    fields.extend(changed_items(deprecated, one, other, |item| &item.name));
    fields
}

fn changed_labels(path: &str, old: &Labels, new: &Labels) -> BTreeSet<String> {
    let keys = old.iter().chain(new.iter()).map(|(key, _)| key);
    let changed = keys.filter(|key| old.get(*key) != new.get(*key));
    changed.map(|key| format!("{path}[{}]", redacted(key))).collect()
}

/// The items of a list that are not in both versions alike, by their names.
fn changed_items<T: PartialEq>(path: &str, old: &[T], new: &[T], name: fn(&T) -> &str) -> Vec<String> {
    let by_name =
        |items| -> BTreeMap<&str, &T> { <[T]>::iter(items).map(|item| (name(item), item)).collect() };
    let (olds, news) = (by_name(old), by_name(new));
    let names: BTreeSet<&str> = olds.keys().chain(news.keys()).copied().collect();
    let changed = names.into_iter().filter(|name| olds.get(name) != news.get(name));
    changed
        .map(|name| format!("{path}[{}]", redacted(name)))
        .collect()
}
