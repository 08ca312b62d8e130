//! Evaluates a function on each change of an object: its creation, two successive versions, and its deletion.

use std::collections::BTreeSet;

use evidence::{
    Evidence,
    api::{ClusterProfile, PlacementDecision},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    Answer, Evaluate, Hub, Judged,
    author::{Attribution, Author, author_of_moment},
    judged::JudgedObject,
};
use crate::{
    subjects::Findings,
    time::{Micros, missed},
    timeline::Timeline,
};

/// A change of an object, as a rule function sees it.
pub(crate) struct Change<'c, 'e, T> {
    /// The version before; none for a creation.
    pub(crate) before: Option<&'e T>,
    /// The version after; none for a deletion.
    pub(crate) after: Option<&'e T>,
    timeline: &'c Timeline<'e, T>,
    /// The place of the moment that begins with the change.
    place: usize,
}

/// A rule on each change of an object by the judged implementation.
pub(crate) struct ChangeRule<T> {
    check: fn(&Change<'_, '_, T>, &Hub) -> Answer,
    is_creation: bool,
    /// What did not happen if there was no change.
    nothing: &'static str,
}

/// A rule on each pair of successive versions of a profile, without a gap between them.
pub(crate) fn change(
    check: fn(&Change<'_, '_, ClusterProfile>, &Hub) -> Answer,
    nothing: &'static str,
) -> ChangeRule<ClusterProfile> {
    ChangeRule::of(check, nothing)
}

/// A rule on each pair of successive versions of a slice, without a gap between them.
pub(crate) fn slice_change(
    check: fn(&Change<'_, '_, PlacementDecision>, &Hub) -> Answer,
    nothing: &'static str,
) -> ChangeRule<PlacementDecision> {
    ChangeRule::of(check, nothing)
}

/// A rule on the first version of each profile that was created during the watch. The function reads `after`.
pub(crate) fn creation(
    check: fn(&Change<'_, '_, ClusterProfile>, &Hub) -> Answer,
    nothing: &'static str,
) -> ChangeRule<ClusterProfile> {
    ChangeRule {
        is_creation: true,
        ..ChangeRule::of(check, nothing)
    }
}

impl<'e, T: Judged> Change<'_, 'e, T> {
    /// Both versions; none for a creation or a deletion.
    pub(crate) fn both(&self) -> Option<(&'e T, &'e T)> {
        self.before.zip(self.after)
    }

    /// The last version before the change that has a value, and how long it surely had it when the object changed. None if
    /// the watch was interrupted since.
    pub(crate) fn last_with<V: PartialEq>(
        &self,
        value: impl Fn(&'e T) -> Option<V>,
    ) -> Option<(&'e T, Micros)> {
        let uid = &self.before.or(self.after)?.metadata().uid;
        let changed = self.timeline.moments()[self.place].since;
        for place in (0..self.place).rev() {
            let object = self.timeline.object(place)?;
            if object.metadata().uid != *uid {
                return None;
            }
            if value(object).is_some() {
                let since = self.timeline.value_since(place, &value);
                return Some((object, changed.earliest.saturating_sub(since.latest)));
            }
        }
        None
    }
}

impl<T: Judged> ChangeRule<T> {
    fn of(check: fn(&Change<'_, '_, T>, &Hub) -> Answer, nothing: &'static str) -> Self {
        Self {
            check,
            is_creation: false,
            nothing,
        }
    }

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
            let change = Change {
                before: observed.before.map(|version| &version.object),
                after: observed.after.map(|version| &version.object),
                timeline: &timeline,
                place: observed.place,
            };
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
        let Some(attribution) = self.author(hub, self.place, &path) else {
            return;
        };
        match (answer, attribution.author) {
            (_, Author::Run | Author::Other) => {}
            (Answer::Unknown(reason), _) => findings.cannot_tell_unless_found(reason),
            (Answer::Warning(found) | Answer::Broken(found), Author::Implementation) => {
                findings.examine();
                for mut finding in found {
                    if reported.insert(finding.path.clone()) {
                        if let Some(object) = self.after.or(self.before) {
                            finding.name_object(|| object.object_ref());
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
        let last = (0..self.place)
            .rev()
            .find(|earlier| self.is_changed(*earlier, path));
        let author = last.and_then(|last| self.author(hub, last, path));
        author.is_some_and(|author| author.is_of_others())
    }

    /// Whether a part became what it is with a moment. True as well while the object is unobserved or absent.
    fn is_changed(&self, place: usize, path: &str) -> bool {
        let Some(object) = self.timeline.object(place) else {
            return true;
        };
        let before = place
            .checked_sub(1)
            .and_then(|before| self.timeline.object(before));
        part(object, path) != before.and_then(|before| part(before, path))
    }
}

/// The reason for no verdict if an object changed while it was unobserved.
const OVER_GAP: &str = "an object changed while the watch was interrupted";

/// Whether the watch of a kind was interrupted when the window ended.
fn ends_in_gap<T: Judged>(evidence: &Evidence) -> bool {
    let end = evidence.header.window.map(|window| window.until);
    end.is_some_and(|end| missed::<T>(evidence, None, end, end).is_some())
}

impl<T: Judged> Evaluate for ChangeRule<T> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        findings.nothing_happened(self.nothing);
        if ends_in_gap::<T>(hub.evidence) {
            findings.cannot_tell_unless_found(OVER_GAP);
        }
        for object in T::judged(hub) {
            self.judge(hub, object, findings);
        }
    }
}

/// The part at a finding's path: the element of a list or a map that the path names last, or the whole field without one.
pub(super) fn part<T: Serialize>(object: &T, path: &str) -> Option<Value> {
    let element = path.rfind(']').map_or(path, |last| &path[..=last]);
    let object = serde_json::to_value(object).ok()?;
    at(&object, element).cloned()
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
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
fn element<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let is_named = |item: &&Value| ["type", "name"].iter().any(|field| item[field] == key);
    match value {
        Value::Array(items) => items.iter().find(is_named),
        other => other.get(key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::part;

    #[test]
    fn the_last_element_that_a_path_names() {
        let object = json!({
            "metadata": {"labels": {"example.com/tier": "gold"}},
            "spec": {"displayName": "a"},
            "status": {"conditions": [{"type": "Joined", "status": "True"}]},
        });
        let cases = [
            ("metadata.labels[example.com/tier]", json!("gold")),
            ("spec.displayName", json!("a")),
            (
                "status.conditions[Joined].lastTransitionTime",
                json!({"type": "Joined", "status": "True"}),
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(part(&object, path), Some(expected), "{path}");
        }
        assert_eq!(part(&object, "status.conditions[Other].status"), None);
        assert_eq!(part(&object, "status.properties[n].value"), None);
    }
}
