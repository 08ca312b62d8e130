//! The run in words: its cost, its reactions, the objects that it could not read, and the decision by each edition.

use std::collections::BTreeMap;

use evidence::{
    DriverAction,
    api::{Edition, Role},
};
use judge::{Decision, Judgement};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Report,
    text::{
        escape,
        number::{bytes, count, listed},
    },
};

/// What the run cost the hub; `None` if the evidence does not say.
pub(crate) fn cost(report: &Report) -> Option<String> {
    let traffic = report.evidence.header.traffic?;
    let requests = usize::try_from(traffic.requests).unwrap_or(usize::MAX);
    Some(format!(
        "{}, {} of answers",
        count(requests, "request"),
        bytes(traffic.bytes)
    ))
}

/// The objects that could not be read, one a line: at most `most`, then the number of the others.
pub(crate) fn unreadable(report: &Report, most: usize) -> Vec<String> {
    let unreadable = &report.evidence.unreadable;
    let lines = unreadable
        .iter()
        .take(most)
        .map(|one| escape::line(&one.to_string()).into_owned());
    let more = (unreadable.len() > most).then(|| {
        let more = count(unreadable.len() - most, "more object");
        format!("… and {more}: a JSON report has them all")
    });
    lines.chain(more).collect()
}

/// The decision by one edition.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfEdition")]
pub(crate) struct EditionDecision {
    pub(crate) role: Role,
    pub(crate) edition: Edition,
    pub(crate) decision: Decision,
}

/// The decision by each edition; empty if there is only one.
pub(crate) fn decisions(judgement: &Judgement) -> Vec<EditionDecision> {
    let parts = judgement.parts().into_iter().filter(|_| judgement.also.is_some());
    parts
        .map(|part| EditionDecision {
            role: part.edition.role(),
            edition: part.edition,
            decision: part.decision,
        })
        .collect()
}

/// How fast the implementation reacted to one action of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reaction {
    /// The action.
    pub action: DriverAction,
    /// The number of steps with an observed reaction.
    pub steps: usize,
    /// The time until the slowest of them, in seconds.
    pub slowest_seconds: i64,
    /// The patience of the steps, in seconds.
    pub patience_seconds: i64,
}

/// The observed reactions, by action.
pub(crate) fn reactions(report: &Report) -> Vec<Reaction> {
    let steps = report.evidence.driver_steps();
    let mut by_action: BTreeMap<&str, Reaction> = BTreeMap::new();
    for step in steps {
        let Some(reacted) = step.reacted else {
            continue;
        };
        let seconds = reacted.duration_since(step.until).as_secs();
        let of_action = by_action.entry(step.action.name()).or_insert(Reaction {
            action: step.action,
            steps: 0,
            slowest_seconds: seconds,
            patience_seconds: step.patience_seconds,
        });
        of_action.steps += 1;
        of_action.slowest_seconds = of_action.slowest_seconds.max(seconds);
    }
    by_action.into_values().collect()
}

/// The reactions in one line: the slowest of each action, and the patience.
pub(crate) fn slowest_reactions(report: &Report) -> Option<String> {
    let reactions = reactions(report);
    let longest = reactions.iter().map(|reaction| reaction.patience_seconds).max()?;
    let each = reactions
        .iter()
        .map(|reaction| format!("{} {} s", reaction.action, reaction.slowest_seconds));
    let each: Vec<String> = each.collect();
    Some(format!("{}, within a patience of {longest} s", listed(&each)?))
}

#[cfg(test)]
mod tests {
    use evidence::{Driver, DriverStep, Evidence, Scenario, StepOutcome};
    use jiff::{SignedDuration, Timestamp};
    use judge::{Selection, judge};

    use super::*;
    use crate::no_advice;

    fn step(action: DriverAction, reacted_after: Option<i64>) -> DriverStep {
        let after = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        DriverStep {
            scenario: Scenario::Outage,
            action,
            member: "lisbon".to_owned(),
            profile: None,
            profile_after: None,
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            outcome: StepOutcome::Done,
            patience_seconds: 120,
            looked_until: after(130),
            reacted: reacted_after.map(after),
            placement: None,
            slice: None,
            change: None,
            secrets_before: None,
            output: String::new(),
        }
    }

    #[test]
    fn only_observed_reactions_count() {
        let steps = vec![
            step(DriverAction::Join, Some(3)),
            step(DriverAction::Join, Some(12)),
            step(DriverAction::Leave, None),
            step(DriverAction::Break, Some(40)),
        ];
        let evidence = Evidence {
            driver: Some(Driver {
                steps,
                ..Driver::default()
            }),
            ..Evidence::default()
        };
        let selection = Selection::default();
        let report = Report {
            evidence: &evidence,
            judgement: &judge(&evidence, &selection),
            selection: &selection,
            judged_at: Timestamp::UNIX_EPOCH,
            file: None,
            advice: no_advice,
        };
        assert_eq!(
            slowest_reactions(&report).as_deref(),
            Some("break 40 s and join 12 s, within a patience of 120 s")
        );
        assert_eq!(reactions(&report)[1].steps, 2);
    }
}
