//! The rules that exist only for tests.
//!
//! Their functions read two labels. The label `answer` of an object says what the function answers about it, and the label
//! `group` is its key.

use std::sync::{Arc, LazyLock};

use evidence::{
    DriverAction, EndpointCall, Login, LoginOutcome, MemberPart, Scenario,
    api::{ClusterProfile, PlacementDecision},
};

use crate::{
    engine::{
        Answer, Change, CountedWrites, DecisionHistory, DecisionKey, Evaluate, Hub, ProfileReference,
        ProfileStep, Sample, Value, Writes, change, creation, decision, endpoint_calls, group, history,
        member, once, plugin_logins, reference, slice, stable, state, step, writes,
    },
    rules::{Facts, Rule},
    subjects::Finding,
    time::{Bucket, SECOND},
};

/// The path of the label that says what a function answers.
const ANSWER_PATH: &str = "metadata.labels[answer]";

/// Rules of an edition: each with the evidence that it needs.
macro_rules! rules {
    ($edition:literal: $($id:literal, $needs:literal => $evaluator:expr,)*) => {
        vec![$(rule($id, $edition, $needs, $evaluator)),*]
    };
}

/// All test rules.
pub(super) static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| profile_rules().into_iter().chain(slice_rules()).collect());

fn profile_rules() -> Vec<Rule> {
    rules! { "standard":
        "test/state", "inventory" => state(labelled_answer),
        "test/state-without-grace", "inventory" => state(labelled_answer).grace(0),
        "test/state-filled-later", "inventory" => state(labelled_answer).filled_later(),
        "test/state-of-others", "inventory" => state(labelled_answer).of_other_managers(),
        "test/group", "inventory" => group(group_key, one_profile),
        "test/stable", "inventory" => stable(answer_value),
        "test/change", "timeline" => change(changed_answer),
        "test/creation", "timeline" => creation(labelled_answer),
        "test/step", "driver" => step(Scenario::Outage, DriverAction::Break, answered_after_break),
        "test/once", "inventory" => once(all_answers),
        "test/member", "members" => member(answer_or_version),
        "test/endpoint-calls", "members" => endpoint_calls(any_call_answered),
        "test/plugin-runs", "plugins" => plugin_logins(no_login_refused),
        "test/writes", "inventory" => writes(CountedWrites::Changing, few_writes),
    }
}

fn slice_rules() -> Vec<Rule> {
    rules! { "placement-2025-09":
        "test/slice", "placement-decisions" => slice(labelled_answer_of_slice),
        "test/decision", "placement-decisions" => decision(one_slice),
        "test/reference", "placement-decisions" => reference(existing_profile).grace(60 * SECOND),
        "test/history", "placement-decisions" => history(no_return),
    }
}

fn rule(id: &'static str, edition: &str, needs: &str, evaluator: impl Evaluate + 'static) -> Rule {
    // A change or a creation during the watch.
    let nothing = if needs == "timeline" {
        "nothingHappened: no change,"
    } else {
        ""
    };
    let facts = format!(
        "{{title: A test, level: MUST, basis: explicit, since: {edition}, source: Test › Test, needs: [{needs}], \
         {nothing} appliesTo: objects with the label, remedy: None.}}"
    );
    Rule {
        id,
        facts: Facts::parse(id, &facts).expect("the facts of a test rule"),
        evaluators: vec![Arc::new(evaluator)],
    }
}

fn has_answer(profile: &ClusterProfile) -> bool {
    profile.label("answer").is_some()
}

/// The answer that the label names.
fn labelled_answer(profile: &ClusterProfile, _: &Hub) -> Answer {
    answer(profile.label("answer"))
}

fn labelled_answer_of_slice(slice: &PlacementDecision, _: &Hub) -> Answer {
    answer(slice.label("answer"))
}

/// Kept without the label, and broken for a text that names no answer.
fn answer(label: Option<&str>) -> Answer {
    match label {
        None => Answer::Kept,
        Some("not-applicable") => Answer::NotApplicable,
        Some("unknown") => Answer::Unknown("the label is unknown".into()),
        Some("warning") => Answer::warning(finding("warning")),
        Some(text) => Answer::broken(finding(text)),
    }
}

fn finding(observed: &str) -> Finding {
    Finding::at_path(ANSWER_PATH, "the label is not allowed")
        .expected("(absent)")
        .observed(observed)
}

fn group_key(profile: &ClusterProfile, _: &Hub) -> Vec<String> {
    profile.label("group").map(str::to_owned).into_iter().collect()
}

fn one_profile(key: &String, profiles: &[&ClusterProfile], _: &Hub) -> Answer {
    let [_, .., last] = profiles else {
        return Answer::Kept;
    };
    Answer::broken(
        Finding::on(*last, "two profiles have one label")
            .at("metadata.labels[group]")
            .expected("one profile")
            .observed(format!("{} profiles with {key}", profiles.len())),
    )
}

/// At most two writes at once, and one more every 30 s.
fn few_writes(writes: &Writes<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let bucket = Bucket {
        burst: 2,
        refill: 30 * SECOND,
        at_least: 0,
    };
    writes.within(bucket, "writes", "metadata")
}

fn answer_value(profile: &ClusterProfile) -> Option<Value> {
    Some(Value::new(ANSWER_PATH, profile.label("answer")?))
}

fn changed_answer(change: &Change<'_, '_, ClusterProfile>, hub: &Hub) -> Answer {
    match change.both() {
        Some((before, after)) if before.label("answer") != after.label("answer") => {
            labelled_answer(after, hub)
        }
        _ => Answer::NotApplicable,
    }
}

/// After a break, the profile has the label.
fn answered_after_break(step: &ProfileStep) -> Answer {
    step.expect(
        |profile| profile.is_some_and(has_answer),
        |_| {
            let finding = Finding::at_path(ANSWER_PATH, "the label is missing");
            finding.expected("a label").observed("(absent)")
        },
    )
}

/// A decision has one slice.
fn one_slice(_: &DecisionKey, slices: &[&PlacementDecision], _: &Hub) -> Answer {
    let [_, .., last] = slices else {
        return Answer::Kept;
    };
    Answer::broken(
        Finding::on(*last, "the decision has several slices")
            .at("decisions")
            .expected("one slice")
            .observed(format!("{} slices", slices.len())),
    )
}

/// A decision names only profiles that exist.
fn existing_profile(reference: &ProfileReference) -> Answer {
    Answer::broken_if(reference.profile.is_none(), || reference.finding())
}

/// No cluster leaves a decision and comes back.
fn no_return(history: &DecisionHistory) -> Answer {
    let back = history.absences.iter().filter(|absence| absence.back.is_some());
    Answer::all(back.map(|absence| {
        let (namespace, name) = absence.cluster;
        Finding::on(absence.slice, "the cluster left and came back")
            .at("decisions")
            .observed(format!("{namespace}/{name}"))
    }))
}

/// The answer about the last version of each profile.
fn all_answers(hub: &Hub) -> Vec<Answer> {
    let profiles = hub.evidence.inventory();
    profiles.map(|profile| labelled_answer(profile, hub)).collect()
}

/// The answer that the label names, but kept if the label is the member's version.
fn answer_or_version(profile: &ClusterProfile, sample: &Sample, hub: &Hub) -> Answer {
    match sample.answers.version.as_deref() {
        None => sample.lacks(MemberPart::Version),
        version if version == profile.label("answer") => Answer::Kept,
        Some(_) => labelled_answer(profile, hub),
    }
}

fn any_call_answered(_: &ClusterProfile, calls: &[&EndpointCall]) -> Answer {
    match calls {
        [] => Answer::Unknown("nothing was called".into()),
        calls => Answer::broken_if(calls.iter().all(|call| call.code.is_none()), || {
            finding("no answer")
        }),
    }
}

fn no_login_refused(_: &ClusterProfile, logins: &[&Login]) -> Answer {
    Answer::each(logins, |login| {
        let is_refused = matches!(login.outcome, LoginOutcome::Refused { .. });
        Answer::broken_if(is_refused, || finding("refused"))
    })
}
