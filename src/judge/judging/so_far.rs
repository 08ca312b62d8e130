//! What a run shows while it goes on: what is broken whatever comes, and what still may mend.

use evidence::{Asked, Awaited, Evidence, Kind};

use crate::{
    judging::{
        chunks::findings,
        judge::{judge, rules_of, without_examining},
        judgement::Judgement,
        selection::Selection,
    },
    rules::Rule,
};

/// The kinds of evidence that a run has of each moment that it has watched, and dry runs: those only add findings.
const AS_IT_HAPPENS: [Kind; 6] = [
    Kind::Inventory,
    Kind::Timeline,
    Kind::Writers,
    Kind::Probe,
    Kind::PlacementDecisions,
    Kind::PlacementTimeline,
];

/// Judges what a run has seen so far by the rules whose violations no later evidence takes back: those that use no
/// evidence that the run asks for and reads when its window is over. All others are left out. A violation that they find
/// stays found; a hint may go.
pub fn judge_so_far(so_far: &Evidence, selection: &Selection) -> Judgement {
    judge(so_far, &final_rules(so_far, selection))
}

/// The selected rules that use only evidence that a run has as it happens.
fn final_rules(evidence: &Evidence, selection: &Selection) -> Selection {
    let is_final = |rule: &&'static Rule| {
        let facts = &rule.facts;
        let needed = facts.needs.iter().chain(&facts.needs_one_of);
        let mut used = needed.chain(&facts.helped_by);
        used.all(|kind| AS_IT_HAPPENS.contains(kind) || *evidence.asked(*kind) != Asked::Yes)
    };
    let rules = rules_of(&evidence.header.claim).into_iter();
    let selected = rules
        .map(|(rule, _)| rule)
        .filter(|rule| selection.holds(rule.id));
    let mut filters: Vec<String> = selected.filter(is_final).map(|rule| rule.id.to_owned()).collect();
    // The id of no rule: without a filter, all rules would count.
    filters.push(String::new());
    Selection {
        filters,
        exact: true,
        skip: Vec::new(),
        basis: selection.basis,
    }
}

/// The objects with a fault that was open when the evidence ends, and that decides a verdict: one that lasts for longer
/// than its grace breaks a rule. Rules that are broken anyway wait for nothing.
pub fn unsettled(evidence: &Evidence, selection: &Selection) -> Awaited {
    let mut awaited = Awaited::default();
    for (_, open) in pending(evidence, selection) {
        awaited.add(open);
    }
    awaited
}

/// The same by rule, in the ledger's order.
pub fn pending(evidence: &Evidence, selection: &Selection) -> Vec<(&'static Rule, Awaited)> {
    let rules = rules_of(&evidence.header.claim).into_iter();
    let examined =
        rules.filter(|(rule, applies)| without_examining(rule, applies, evidence, selection).is_none());
    let examined: Vec<&'static Rule> = examined.map(|(rule, _)| rule).collect();
    let found = findings(&examined, evidence);
    let undecided = examined
        .into_iter()
        .zip(&found)
        .filter(|(_, found)| !found.open().is_empty() && found.list().iter().all(|finding| finding.advisory));
    undecided
        .map(|(rule, found)| (rule, found.open().clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use evidence::api::Edition;

    use super::*;
    use crate::{judging::verdict::Verdict, rules::example::Example};

    /// The rules that are judged of a run that asks for these kinds.
    fn judged(kinds: &[Kind], filters: &[&str]) -> Vec<&'static str> {
        let mut evidence = Evidence::default();
        let asked = kinds.iter().map(|kind| (*kind, Asked::Yes));
        evidence.header.asked = asked.collect();
        let selection = Selection {
            filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
            ..Selection::default()
        };
        let verdicts = judge_so_far(&evidence, &selection).verdicts.into_iter();
        let judged = verdicts.filter(|verdict| !verdict.is_deselected());
        let mut ids: Vec<&str> = judged.map(|verdict| verdict.rule.id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn what_is_read_at_the_end_leaves_a_rule_out() {
        let budget = "updates/status-writes-within-budget";
        let filters = [
            "updates/status-writes",
            "version/matches-member",
            "version/well-formed",
        ];
        let watched = [Kind::Inventory, Kind::Timeline, Kind::Writers];
        let with = |kind: Kind| judged(&[&watched[..], &[kind]].concat(), &filters);
        assert_eq!(
            with(Kind::Probe),
            [budget, "version/matches-member", "version/well-formed"]
        );
        assert_eq!(with(Kind::Members), [budget, "version/well-formed"]);
        assert_eq!(
            with(Kind::Requests),
            ["version/matches-member", "version/well-formed"]
        );
    }

    #[test]
    fn what_counts_by_its_age_alone_is_pending_until_the_end() {
        let id = "identity/manager-label-present";
        let example = serde_json::json!({"name": "listed without its label", "fails": {
            "observe": "30s",
            "gaps": [{"kind": "timeline", "reason": "not yet watched", "from": "30s", "until": "5m"}],
            "profiles": [{"metadata": {"labels": {"x-k8s.io/cluster-manager": null}}}],
        }});
        let example = Example::parse(&example, Edition::default()).expect("an example");
        let selection = Selection {
            filters: vec![id.to_owned()],
            exact: true,
            ..Selection::default()
        };
        let fails = |evidence: &Evidence| {
            let verdicts = judge_so_far(evidence, &selection).verdicts;
            verdicts.iter().any(|verdict| verdict.verdict == Verdict::Fail)
        };
        let mut evidence = example.evidence().clone();
        assert!(fails(&evidence));
        evidence.header.goes_on = true;
        assert!(!fails(&evidence));
        let pending = pending(&evidence, &selection);
        assert!(
            matches!(&pending[..], [(rule, _)] if rule.id == id),
            "{pending:?}"
        );
    }

    #[test]
    fn where_all_rules_wait_none_is_judged() {
        assert_eq!(
            judged(&[Kind::Driver], &["lifecycle/join-creates-profile"]),
            [""; 0]
        );
    }
}
