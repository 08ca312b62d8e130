//! Traces of conformance runs, so that runs side by side on one hub leave each other's profiles out.

use std::collections::BTreeSet;

use crate::{
    ObjectKey, ObjectRef, ProfileHistory,
    api::{ClusterProfile, PlacementDecision, names},
};

/// The label with the run's id, on each object that a run creates.
pub const LABEL_RUN: &str = "conformance.clusterprofile/run";
/// The characters of a run's id: without vowels, so that it is not a word.
pub const RUN_ID_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// The length of a run's id.
pub const RUN_ID_LENGTH: usize = 5;

const PREFIX: &str = "conformance-";

/// Names a member that a run offers, or has made, or a placement that it asks for: a DNS label that is unique to the run.
pub fn member_name(run: &str, number: usize) -> String {
    format!("{PREFIX}{run}-{number}")
}

/// Lists the profiles of other runs than `own_run`: a run created it (by its label), or joined its member (by its names).
pub fn of_other_runs(profiles: &[ProfileHistory], own_run: Option<&str>) -> BTreeSet<ObjectKey> {
    let is_other = |profile: &ClusterProfile| runs_of(profile).any(|run| Some(run) != own_run);
    profiles
        .iter()
        .filter(|history| is_other(history.first()) || is_other(history.last()))
        .map(|history| ObjectKey::from(&ObjectRef::from(history.last())))
        .collect()
}

/// Whether a slice belongs to another run than `own_run`: that run created it, or asked for its decision.
pub(crate) fn is_slice_of_other_run(slice: &PlacementDecision, own_run: Option<&str>) -> bool {
    let labelled = slice.label(LABEL_RUN).filter(|run| is_run_id(run));
    labelled.is_some_and(|run| Some(run) != own_run)
        || texts_of(slice).any(|text| names_other_run(text, own_run))
}

/// Whether a text names a member or a placement of another run than `own_run`.
pub(crate) fn names_other_run(text: &str, own_run: Option<&str>) -> bool {
    run_of_member(text).is_some_and(|run| Some(run) != own_run)
}

/// Whether a slice names the placement that it is for: in its own name, its keys, or its owners.
pub fn names_placement(slice: &PlacementDecision, name: &str) -> bool {
    texts_of(slice).any(|text| mentions(text, name))
}

pub(crate) fn names_any_placement(slice: &PlacementDecision) -> bool {
    texts_of(slice).any(|text| run_of_member(text).is_some())
}

/// The texts of a slice by which a scheduler may tell its placement.
fn texts_of(slice: &PlacementDecision) -> impl Iterator<Item = &str> {
    let keys = [names::LABEL_DECISION_KEY, names::LABEL_PLACEMENT_KEY];
    let owners = slice.metadata.owner_references.iter().map(|owner| &*owner.name);
    let labels = keys.into_iter().filter_map(|key| slice.label(key));
    std::iter::once(&*slice.metadata.name).chain(labels).chain(owners)
}

/// Whether the text holds the name, and not as a part of a longer one.
pub fn mentions(text: &str, name: &str) -> bool {
    let stands_alone = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        ends(before) && ends(after)
    };
    !name.is_empty() && text.match_indices(name).any(|(at, _)| stands_alone(at))
}

/// Whether a profile belongs to a conformance run.
pub fn is_of_a_run(profile: &ClusterProfile) -> bool {
    runs_of(profile).next().is_some()
}

/// Says which profiles of other runs are left out; nothing if there are none.
pub fn other_runs_note(profiles: &BTreeSet<ObjectKey>) -> Option<String> {
    let ObjectKey { namespace, name } = profiles.first()?;
    Some(format!(
        "profiles of other conformance runs are not judged: {}, for example {namespace}/{name}",
        profiles.len()
    ))
}

fn runs_of(profile: &ClusterProfile) -> impl Iterator<Item = &str> {
    let names = [
        Some(&*profile.metadata.name),
        profile.spec.display_name.as_deref(),
        profile.label(names::LABEL_MEMBER_ID),
    ];
    let members = names.into_iter().flatten().filter_map(run_of_member);
    let labelled = profile.label(LABEL_RUN).filter(|run| is_run_id(run));
    labelled.into_iter().chain(members)
}

/// Whether a text has the form of a run's id. A profile with another text in the label is judged.
fn is_run_id(text: &str) -> bool {
    text.len() == RUN_ID_LENGTH && text.bytes().all(|byte| RUN_ID_LETTERS.contains(&byte))
}

fn run_of_member(text: &str) -> Option<&str> {
    text.match_indices(PREFIX).find_map(|(at, _)| {
        let (run, rest) = text[at + PREFIX.len()..].split_at_checked(RUN_ID_LENGTH)?;
        let is_numbered = rest
            .strip_prefix('-')
            .is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        (is_run_id(run) && is_numbered).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Origin, Version};

    fn count(profile: Value) -> usize {
        let history = ProfileHistory {
            origin: Origin::Listed,
            versions: vec![Version {
                at: None,
                object: serde_json::from_value(profile).expect("a profile"),
            }],
            deleted: None,
            deleted_version: None,
        };
        of_other_runs(&[history], Some("r4n6d")).len()
    }

    #[test]
    fn profile_of_another_run_has_its_label_or_member() {
        let member = member_name("bcdfg", 12);
        for profile in [
            json!({"metadata": {"name": "a", "labels": {LABEL_RUN: "bcdfg"}}}),
            json!({"metadata": {"name": format!("m-{member}")}}),
            json!({"metadata": {"name": "a"}, "spec": {"displayName": member}}),
            json!({"metadata": {"name": "a", "labels": {names::LABEL_MEMBER_ID: member}}}),
        ] {
            assert_eq!(count(profile.clone()), 1, "{profile}");
        }
        let names = "conformance-r4n6d-1 conformance-tests-1 conformance-bcdfg conformance-bcdfg-a conformance- bcdfg-1 \
                     conformance-é-1";
        for name in names.split(' ') {
            assert_eq!(count(json!({"metadata": {"name": name}})), 0, "{name}");
        }
        let profile = json!({"metadata": {"name": "a", "labels": {LABEL_RUN: "r4n6d"}}});
        assert_eq!(count(profile), 0);
        assert_eq!(other_runs_note(&BTreeSet::new()), None);
    }
}
