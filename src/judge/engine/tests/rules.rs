//! The rules that exist only for tests.
//!
//! Their functions read two labels. The label `answer` of a profile says what the function answers about it, and the label
//! `group` is its key.

use std::sync::{Arc, LazyLock};

use evidence::{DriverAction, Scenario, api::ClusterProfile};

use crate::{
    engine::{
        Answer, Change, Evaluate, Hub, Shortfall, Step, Value, change, creation, group, stable, state, step,
    },
    rules::{Facts, Rule},
    subjects::Finding,
};

/// The path of the label that says what a function answers.
const ANSWER_PATH: &str = "metadata.labels[answer]";

/// All test rules.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("test/state", "inventory", state(labelled_answer)),
        rule(
            "test/state-without-grace",
            "inventory",
            state(labelled_answer).grace(0),
        ),
        rule(
            "test/state-filled-later",
            "inventory",
            state(labelled_answer).filled_later(),
        ),
        rule(
            "test/state-of-others",
            "inventory",
            state(labelled_answer).of_others(),
        ),
        rule(
            "test/state-if-any",
            "inventory",
            state(labelled_answer).applies_if_any(has_answer),
        ),
        rule("test/group", "inventory", group(group_key, group_of_one)),
        rule(
            "test/stable",
            "inventory",
            stable(answer_value, "the label changed"),
        ),
        rule(
            "test/change",
            "timeline",
            change(change_of_answer, "no label changed"),
        ),
        rule(
            "test/creation",
            "timeline",
            creation(answer_of_creation, "no profile was created"),
        ),
        rule(
            "test/step",
            "driver",
            step(Scenario::Outage, DriverAction::Break, answered_after_break),
        ),
    ]
});

fn rule(id: &'static str, needs: &str, evaluator: impl Evaluate + 'static) -> Rule {
    let facts = format!(
        "{{title: A test, level: MUST, basis: explicit, since: standard, source: Test › Test, needs: [{needs}], \
         appliesTo: profiles with the label, remedy: None., examples: []}}"
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

/// The answer that the label names: kept without the label, and broken for a text that names none.
fn labelled_answer(profile: &ClusterProfile, _: &Hub) -> Answer {
    match profile.label("answer") {
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

fn group_of_one(key: &String, profiles: &[&ClusterProfile], _: &Hub) -> Answer {
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

fn answer_value(profile: &ClusterProfile) -> Option<Value> {
    Some(Value {
        path: ANSWER_PATH.to_owned(),
        value: profile.label("answer")?.to_owned(),
    })
}

fn change_of_answer(change: &Change<'_, '_, ClusterProfile>, hub: &Hub) -> Answer {
    match change.both() {
        Some((before, after)) if before.label("answer") != after.label("answer") => {
            labelled_answer(after, hub)
        }
        _ => Answer::NotApplicable,
    }
}

fn answer_of_creation(change: &Change<'_, '_, ClusterProfile>, hub: &Hub) -> Answer {
    change
        .after
        .map_or(Answer::NotApplicable, |profile| labelled_answer(profile, hub))
}

/// After a break, the profile has the label.
fn answered_after_break(step: &Step) -> Answer {
    step.expect(
        |profile| profile.is_some_and(has_answer),
        |_| Shortfall {
            message: "the label is missing",
            path: ANSWER_PATH.to_owned(),
            expected: "a label".to_owned(),
            observed: "(absent)".to_owned(),
        },
    )
}
