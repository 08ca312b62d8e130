//! Examines rules in teams.
//!
//! Rules that judge each object by itself take turns: each of them judges some objects before any of them goes on to the next
//! ones. So an object is still in the processor's cache for all but the first rule of a team.

use evidence::{Reason, api::Role};

use super::Rule;
use crate::{
    engine::{EvaluateObjects, Hub},
    subjects::Findings,
};

/// How many objects a rule judges in one turn. They take some hundred kilobytes.
const OBJECTS_A_TURN: usize = 32;

/// What the rules of a team find, each on a hub of its own.
pub(crate) fn findings_of_team(team: &[(&Rule, &Hub)]) -> Vec<Findings> {
    let mut findings: Vec<Findings> = team.iter().map(|(rule, _)| rule.no_findings()).collect();
    let counts = team
        .iter()
        .filter_map(|(rule, hub)| Some(rule.on_objects()?.count_objects(hub)));
    let last = counts.max().unwrap_or_default();
    for first in (0..last).step_by(OBJECTS_A_TURN) {
        for ((rule, hub), findings) in team.iter().zip(&mut findings) {
            rule.take_turn(hub, first, findings);
        }
    }
    for ((rule, hub), findings) in team.iter().zip(&mut findings) {
        if rule.on_objects().is_none() {
            rule.evaluate(hub, findings);
        }
        rule.complete(hub, findings);
    }
    findings
}

impl Rule {
    /// Its function, if it judges each object by itself.
    pub(crate) fn on_objects(&self) -> Option<&dyn EvaluateObjects> {
        match &*self.evaluators {
            [evaluator] if self.facts.not_for.is_empty() => evaluator.on_objects(),
            _ => None,
        }
    }

    /// Judges some objects from a place on, if it judges each by itself.
    fn take_turn(&self, hub: &Hub, first: usize, findings: &mut Findings) {
        if let Some(evaluator) = self.on_objects() {
            let end = evaluator.count_objects(hub).min(first + OBJECTS_A_TURN);
            if first < end {
                evaluator.evaluate_objects(hub, first..end, findings);
            }
        }
    }

    /// Judges all that was observed.
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        if let Some(reason) = self.why_exempt(hub) {
            findings.not_asked(reason);
            return;
        }
        for evaluator in &self.evaluators {
            evaluator.evaluate(hub, findings);
        }
    }

    /// Adds the words of the rule's file, and what a rule on slices cannot tell.
    fn complete(&self, hub: &Hub, findings: &mut Findings) {
        if let Some(words) = &self.facts.finding {
            findings.complete(words);
        }
        // That suite is about all clients that write slices.
        let is_on_writers = self.suite() == "placement-ownership";
        if self.role() == Role::Scheduler && !is_on_writers && hub.has_only_slices_of_other_clients() {
            let reason = "no slice is by the configured scheduler";
            findings.cannot_tell_unless_examined(reason);
        }
    }

    /// Why the rule does not judge the consumer of a run, if so.
    fn why_exempt(&self, hub: &Hub) -> Option<Reason> {
        let mut exempt = self.facts.not_for.iter();
        exempt.find_map(|exempt| exempt.reason(&hub.consumer_run().ok()?.consumer))
    }

    /// Nothing examined yet: says what did not happen, or what there is none of, if nothing is examined in the end.
    fn no_findings(&self) -> Findings {
        let mut findings = Findings::default();
        if let Some(words) = &self.facts.nothing_happened {
            findings.nothing_happened(words.clone());
        } else if let Some(things) = &self.facts.applies_to {
            let words = format!("there are no {things}");
            findings.not_applicable(match self.facts.not_applicable {
                Some(id) => Reason::of(id, words),
                None => Reason::from(words),
            });
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evidence::{
        Evidence, Origin, ProfileHistory, Version,
        api::{ClusterManager, ClusterProfile, Property},
    };

    use super::*;
    use crate::rules;

    /// As many profiles as a few turns judge. Every seventh has no manager, and every fifth got a property later.
    fn profiles() -> Evidence {
        let version = |number: usize, has_property: bool| {
            let mut profile = ClusterProfile::default();
            profile.metadata.name = Arc::from(format!("member-{number}"));
            if !number.is_multiple_of(7) {
                let name = "manager".into();
                Arc::make_mut(&mut profile.spec).cluster_manager = Some(ClusterManager { name });
            }
            if has_property {
                let property = Property {
                    name: "location.topology.k8s.io".into(),
                    ..Property::default()
                };
                profile.status.properties = Arc::from([property]);
            }
            Version {
                at: None,
                object: profile,
            }
        };
        let history = |number: usize| {
            let mut versions = vec![version(number, false)];
            if number.is_multiple_of(5) {
                versions.push(version(number, true));
            }
            ProfileHistory {
                origin: Origin::Listed,
                versions,
                deleted: None,
                deleted_version: None,
            }
        };
        Evidence {
            profiles: (0..3 * OBJECTS_A_TURN + 5).map(history).collect(),
            ..Evidence::default()
        }
    }

    #[test]
    fn rules_have_equal_findings_in_a_team_and_alone() {
        let evidence = profiles();
        let hub = Hub::of(&evidence);
        let team: Vec<(&Rule, &Hub)> = rules::all().iter().map(|rule| (rule, &hub)).collect();
        for ((rule, _), findings) in team.iter().zip(findings_of_team(&team)) {
            let mut alone = rule.no_findings();
            rule.evaluate(&hub, &mut alone);
            if rule.why_exempt(&hub).is_none() {
                rule.complete(&hub, &mut alone);
            }
            assert_eq!(findings, alone, "{}", rule.id);
        }
        let usable = rules::find("identity/manager-name-usable").expect("a rule");
        assert!(!usable.findings(&evidence).list().is_empty());
    }
}
