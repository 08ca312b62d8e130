//! Evaluates a function on each change of an object (its creation, two successive versions, and its deletion), and values
//! that must not change as long as an object exists.

use std::ptr;

use serde::Serialize;
use serde_json::Value as Json;

use super::{
    author::{NOTHING_RECORDED, author_of_moment},
    prelude::*,
};
use crate::{time::missed, timeline};

/// A change of an object, as a rule function sees it.
pub(crate) struct Change<'c, 'e, T> {
    observed: timeline::ObservedChange<'e, T>,
    timeline: &'c Timeline<'e, T>,
}

type CheckChange<T> = Box<dyn Fn(&Change<'_, '_, T>, &Hub) -> Answer + Send + Sync>;

pub(crate) struct ChangeRule<T> {
    check: CheckChange<T>,
    is_creation: bool,
}

/// A rule on each pair of successive versions of a profile or a slice, without a gap between them.
pub(crate) fn change<T: Judged>(check: fn(&Change<'_, '_, T>, &Hub) -> Answer) -> ChangeRule<T> {
    ChangeRule {
        check: Box::new(check),
        is_creation: false,
    }
}

/// A rule on the first version of each profile that was created during the watch.
pub(crate) fn creation(check: fn(&ClusterProfile, &Hub) -> Answer) -> ChangeRule<ClusterProfile> {
    ChangeRule {
        check: Box::new(move |change, hub| {
            let created = change.observed.after;
            created.map_or(Answer::NotApplicable, |version| check(&version.object, hub))
        }),
        is_creation: true,
    }
}

impl<'e, T: Judged> Change<'_, 'e, T> {
    /// Both versions; none for a creation or a deletion.
    pub(crate) fn both(&self) -> Option<(&'e T, &'e T)> {
        let (before, after) = self.observed.before.zip(self.observed.after)?;
        Some((&before.object, &after.object))
    }

    /// The last version before the change that has a value, and how long it surely had it when the object changed. None if
    /// the watch was interrupted since.
    pub(crate) fn last_with<V: PartialEq>(
        &self,
        value: impl Fn(&'e T) -> Option<V>,
    ) -> Option<(&'e T, Micros)> {
        let uid = &self.observed.history.last().metadata().uid;
        for place in (0..self.observed.place).rev() {
            let object = self.timeline.object(place)?;
            if object.metadata().uid != *uid {
                return None;
            }
            if value(object).is_some() {
                let since = self.timeline.value_since(place, &value);
                return Some((object, self.observed.at.earliest.saturating_sub(since.latest)));
            }
        }
        None
    }
}

impl<T: Judged> ChangeRule<T> {
    fn judge<'e>(&self, hub: &Hub<'e>, object: &JudgedObject<'e, T>, findings: &mut Findings) {
        let timeline = object.timeline(hub);
        // The paths of violations that are reported already.
        let mut reported = BTreeSet::new();
        for observed in timeline.changes() {
            if self.is_creation != observed.before.is_none() {
                continue;
            }
            if observed.is_over_gap {
                findings.cannot_tell_unless_found(OVER_GAP);
                continue;
            }
            let timeline = &timeline;
            let change = Change { observed, timeline };
            match (self.check)(&change, hub) {
                Answer::NotApplicable => {}
                Answer::Kept => findings.examine(),
                answer => change.judge_violation(hub, answer, &mut reported, findings),
            }
        }
    }
}

impl<'e, T: Judged> Change<'_, 'e, T> {
    /// Counts what the implementation did. What follows a change of the same part by another client may revert it.
    fn judge_violation(
        &self,
        hub: &Hub<'e>,
        answer: Answer,
        reported: &mut BTreeSet<String>,
        findings: &mut Findings,
    ) {
        let first = answer.findings().first();
        let path = first.map_or(String::new(), |finding| finding.path.clone());
        if self.follows_another_client(hub, &path) {
            return;
        }
        let Some(attribution) = self.author(hub, self.observed.place, &path) else {
            return;
        };
        match (answer, attribution.author) {
            (_, Author::Run | Author::Other) => {}
            (Answer::Unknown(reason), _) => findings.cannot_tell_unless_found(reason),
            (Answer::Warning(found) | Answer::Broken(found), Author::Implementation) => {
                findings.examine();
                for mut finding in found {
                    if reported.insert(finding.path.clone()) {
                        if let Some(version) = self.observed.after.or(self.observed.before) {
                            finding.name_object(|| version.object.object_ref());
                        }
                        findings.report(finding.done_by(&attribution.names));
                    }
                }
            }
            (Answer::Broken(_), Author::Unknown(reason)) => {
                findings.examine();
                findings.cannot_tell_unless_found(reason);
            }
            (_, _) => findings.examine(),
        }
    }

    fn author(&self, hub: &Hub<'e>, place: usize, path: &str) -> Option<Attribution<'e>> {
        author_of_moment(hub, self.timeline, place, path, &|_| true)
    }

    /// Whether another client is known to have made the last change of a part before this one.
    fn follows_another_client(&self, hub: &Hub<'e>, path: &str) -> bool {
        let mut earlier = (0..self.observed.place).rev();
        let last = earlier.find(|earlier| self.is_changed(*earlier, path));
        let author = last.and_then(|last| self.author(hub, last, path));
        author.is_some_and(|author| author.is_other_client())
    }

    /// Whether a part became what it is with a moment. True as well while the object is unobserved or absent.
    fn is_changed(&self, place: usize, path: &str) -> bool {
        let Some(object) = self.timeline.object(place) else {
            return true;
        };
        let before = place.checked_sub(1);
        let before = before.and_then(|before| self.timeline.object(before));
        part(object, path) != before.and_then(|before| part(before, path))
    }
}

/// The reason for no verdict if an object changed while it was unobserved.
const OVER_GAP: &str = "an object changed while the watch was interrupted";

/// Whether the watch of a kind was interrupted when the window ended.
fn ends_in_gap<T: Judged>(evidence: &Evidence) -> bool {
    end(evidence).is_some_and(|end| missed::<T>(evidence, None, end, end).is_some())
}

impl<T: Judged> Evaluate for ChangeRule<T> {
    fn judges_events(&self) -> bool {
        true
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        if ends_in_gap::<T>(hub.evidence) {
            findings.cannot_tell_unless_found(OVER_GAP);
        }
        for object in T::judged(hub) {
            self.judge(hub, object, findings);
        }
    }
}

/// The part at a finding's path: the element of a list or a map that the path names last, or the whole field without one.
pub(super) fn part<T: Serialize>(object: &T, path: &str) -> Option<Json> {
    let element = path.rfind(']').map_or(path, |last| &path[..=last]);
    let object = serde_json::to_value(object).ok()?;
    at(&object, element).cloned()
}

/// The text at a path, as findings write it.
pub(crate) fn text_at<T: Serialize>(object: &T, path: &str) -> Option<String> {
    let object = serde_json::to_value(object).ok()?;
    Some(at(&object, path)?.as_str()?.to_owned())
}

fn at<'v>(value: &'v Json, path: &str) -> Option<&'v Json> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some((key, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) {
        return at(element(value, key)?, rest);
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let (field, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    at(value.get(field)?, rest)
}

/// The entry of a map with a key, or the element of a list with that type or name.
fn element<'v>(value: &'v Json, key: &str) -> Option<&'v Json> {
    match value {
        Json::Array(items) => items.iter().find(|item| name(item) == Some(key)),
        other => other.get(key),
    }
}

/// The type of a condition, or the name of another element of a list.
fn name(item: &Json) -> Option<&str> {
    item.get("type").or(item.get("name"))?.as_str()
}

/// The paths of the fields in which two versions differ.
pub(crate) fn changed_fields<T: Judged>(before: &T, after: &T) -> BTreeSet<String> {
    let [before, after] = [before, after].map(|object| serde_json::to_value(object).unwrap_or_default());
    let mut changed = BTreeSet::new();
    for path in T::FIELDS {
        let list = path.strip_suffix("[]");
        let [old, new] = [&before, &after].map(|object| at(object, list.unwrap_or(path)));
        let Some(list) = list else {
            changed.extend((old != new).then(|| (*path).to_owned()));
            continue;
        };
        let [old, new] = [old, new].map(entries);
        let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
        let names = names.into_iter().filter(|name| old.get(name) != new.get(name));
        changed.extend(names.map(|name| format!("{list}[{}]", redacted(name))));
    }
    changed
}

/// The entries of a map or a list, by their keys or names.
fn entries(value: Option<&Json>) -> BTreeMap<&str, &Json> {
    match value {
        Some(Json::Object(entries)) => entries.iter().map(|(key, value)| (&**key, value)).collect(),
        Some(Json::Array(items)) => {
            let by_name = items.iter().map(|item| (name(item).unwrap_or_default(), item));
            by_name.collect()
        }
        _ => BTreeMap::new(),
    }
}

/// A value of a profile, with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// Where it is.
    pub(crate) path: String,
    /// What it is; never empty.
    pub(crate) value: String,
}

impl Value {
    pub(crate) fn new(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            value: value.into(),
        }
    }
}

/// A rule on a value of each profile. Versions without the value do not count as a change, nor does what a gap hides.
pub(crate) struct Stable {
    value: fn(&ClusterProfile) -> Option<Value>,
    /// The value may change with this one; none if it must not change at all.
    within: Option<fn(&ClusterProfile) -> Option<&str>>,
    /// Whether it does not matter who changed the value.
    counts_any_author: bool,
}

/// The last value that was not empty never changes within one uid.
pub(crate) fn stable(value: fn(&ClusterProfile) -> Option<Value>) -> Stable {
    Stable {
        value,
        within: None,
        counts_any_author: false,
    }
}

struct KnownValue<'e> {
    /// The value by the implementation, or the first one.
    base: Value,
    last: String,
    at: &'e Version,
}

impl Stable {
    /// A change counts, also by another client.
    pub(crate) fn any_author(mut self) -> Self {
        self.counts_any_author = true;
        self
    }

    /// The value may change when this one does.
    pub(crate) fn within(mut self, scope: fn(&ClusterProfile) -> Option<&str>) -> Self {
        self.within = Some(scope);
        self
    }

    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, ClusterProfile>,
        history: &'e History<ClusterProfile>,
        findings: &mut Findings,
    ) {
        let mut earlier: Option<KnownValue> = None;
        let mut is_examined = false;
        for version in object.judged_versions(history) {
            earlier = earlier.filter(|earlier| self.is_of_one_scope(earlier.at, version));
            let Some(value) = (self.value)(&version.object) else {
                continue;
            };
            is_examined = true;
            let earlier = earlier.get_or_insert_with(|| KnownValue {
                base: value.clone(),
                last: value.value.clone(),
                at: version,
            });
            earlier.at = version;
            let last = std::mem::replace(&mut earlier.last, value.value.clone());
            // Another client may have changed the value, and the implementation restored it.
            let is_changed = value.value != last && value.value != earlier.base.value;
            if is_changed && self.judge_change(hub, history, version, (&earlier.base, &value), findings) {
                earlier.base = value;
            }
        }
        if is_examined {
            findings.examine();
        }
    }

    fn is_of_one_scope(&self, before: &Version, after: &Version) -> bool {
        self.within.is_none_or(|scope| {
            let old = scope(&before.object);
            old.is_some() && old == scope(&after.object)
        })
    }

    /// Reports a change by the implementation. Returns whether it made the change.
    fn judge_change<'e>(
        &self,
        hub: &Hub<'e>,
        history: &'e History<ClusterProfile>,
        version: &'e Version,
        (old, new): (&Value, &Value),
        findings: &mut Findings,
    ) -> bool {
        let timeline = Timeline::of_name(hub.evidence, &[history]);
        let mut changes = timeline.changes();
        let change = changes.find(|change| change.after.is_some_and(|after| ptr::eq(after, version)));
        let Some(change) = change else { return false };
        if change.is_over_gap && self.within.is_some() {
            findings.cannot_tell("the value changed while the watch was interrupted");
            return false;
        }
        if !self.counts_any_author {
            match hub.profile_authors().of_change(&change, &new.path).author {
                Author::Implementation => {}
                // Without any record of writers, the judged implementation is the only known one.
                Author::Unknown(reason) if reason == NOTHING_RECORDED => {}
                Author::Run | Author::Other => return false,
                Author::Unknown(reason) => {
                    findings.cannot_tell(reason);
                    return false;
                }
            }
        }
        let finding = Finding::at_field_of(&version.object, &new.path, &new.value);
        findings.report(finding.expected(&old.value));
        true
    }
}

impl Evaluate for Stable {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        for object in hub.profiles() {
            for history in &object.histories {
                self.judge(hub, object, history, findings);
            }
        }
    }

    fn judges_published_objects(&self) -> bool {
        true
    }
}
