//! The rules that a user selects, and the evidence that each of them lacks.

use std::collections::{BTreeMap, HashSet};

use evidence::{Claim, Evidence, Gap, Kind, Reason, Requested, api::names};
use serde::{Deserialize, Serialize};

use crate::{
    judging::{
        judge::{why_skipped, why_without_evidence},
        verdict::{Judgement, RuleVerdict, Verdict},
    },
    rules,
    rules::{Basis, Rule},
};

/// The rules that the user selected, by substrings of their ids, as with `cargo test`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selection {
    /// A rule must match one of these; empty: all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// A rule must match none of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<String>,
    /// Whether `filters` and `skip` are whole ids.
    pub exact: bool,
    /// The basis that a rule must have in the judged edition; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

impl Selection {
    /// Whether the user selected a rule. Its basis depends on the claim's editions.
    pub fn selects(&self, rule: &Rule, claim: &Claim) -> bool {
        let applies = rule.facts.in_claim(claim);
        self.holds(rule.id) && applies.is_some_and(|applies| self.holds_basis(applies.basis))
    }

    /// Whether the user selected rules with that basis.
    pub(crate) fn holds_basis(&self, basis: Basis) -> bool {
        self.basis.is_none_or(|selected| selected == basis)
    }

    /// Whether the user selected the rule with that id.
    pub fn holds(&self, id: &str) -> bool {
        let matches = |pattern: &String| {
            if self.exact {
                id == pattern
            } else {
                id.contains(pattern.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(matches)) && !self.skip.iter().any(matches)
    }
}

/// Whether a run can judge a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// The run requests all evidence that the rule needs.
    Judged,
    /// The user did not select the rule, or does not claim its feature.
    LeftOut(Reason),
    /// Evidence that the rule needs is not requested or not available, for these reasons.
    Lacks(Vec<Reason>),
}

/// Whether a run can judge each rule of the edition, in the ledger's order. Reads only the header and the gaps of the
/// evidence.
pub fn prospects(evidence: &Evidence, selection: &Selection) -> Vec<(&'static Rule, Prospect)> {
    let claim = &evidence.header.claim;
    let prospect = |rule: &'static Rule| {
        let applies = rule.facts.in_claim(claim)?;
        if let Some(reason) = why_skipped(rule, applies, selection, claim) {
            return Some((rule, Prospect::LeftOut(reason)));
        }
        let without_evidence = why_without_evidence(rule, evidence).map(|(_, reasons)| reasons);
        let reasons = without_evidence.unwrap_or_else(|| missing(rule, evidence));
        match &reasons[..] {
            [] => Some((rule, Prospect::Judged)),
            _ => Some((rule, Prospect::Lacks(reasons))),
        }
    };
    rules::all().iter().filter_map(prospect).collect()
}

/// The skipped rules by the kind of evidence that they wait for. A rule that needs one of two kinds is listed with both.
pub fn locked(judgement: &Judgement, evidence: &Evidence) -> BTreeMap<Kind, Vec<&'static Rule>> {
    let is_skipped = |verdict: &&RuleVerdict| verdict.verdict == Verdict::Skipped && !verdict.is_deselected();
    let mut locked: BTreeMap<Kind, Vec<&'static Rule>> = BTreeMap::new();
    for verdict in judgement.verdicts.iter().filter(is_skipped) {
        for kind in waits_for(verdict.rule, evidence) {
            locked.entry(kind).or_default().push(verdict.rule);
        }
    }
    locked
}

/// The kinds of evidence that a rule needs and the run did not request: the first required kind or, if all of these were
/// requested, the alternatives.
pub(crate) fn waits_for(rule: &Rule, evidence: &Evidence) -> Vec<Kind> {
    let is_missing = |kind: &Kind| matches!(evidence.requested(*kind), Requested::No(_));
    if let Some(kind) = rule.facts.needs.iter().find(|kind| is_missing(kind)) {
        return vec![*kind];
    }
    let either = rule.facts.needs_one_of.iter().copied();
    either.filter(is_missing).collect()
}

/// The gaps that keep a rule from passing: those in each required kind and, if all alternatives have gaps, those in the
/// alternatives.
pub(crate) fn missing(rule: &Rule, evidence: &Evidence) -> Vec<Reason> {
    let of = |kind: &Kind| {
        let unreadable = unreadable(evidence, *kind).map(Reason::from);
        gaps(rule, evidence, *kind).chain(unreadable)
    };
    let mut missed: Vec<Reason> = rule.facts.needs.iter().flat_map(of).collect();
    let is_had = |kind: &Kind| evidence.is_whole(*kind) && unreadable(evidence, *kind).is_none();
    let either = &rule.facts.needs_one_of;
    if !either.iter().any(is_had) {
        missed.extend(either.iter().flat_map(of));
    }
    let mut unique = HashSet::new();
    missed.retain(|reason| unique.insert(reason.clone()));
    missed
}

/// The objects of one kind of evidence that could not be read. Profiles that are known to be out of scope do not count.
fn unreadable(evidence: &Evidence, kind: Kind) -> Option<String> {
    let object_kind = match kind {
        Kind::Inventory | Kind::Timeline => names::KIND,
        Kind::PlacementDecisions | Kind::PlacementTimeline => names::PLACEMENT_KIND,
        Kind::Namespaces => "Namespace",
        Kind::Secrets => "Secret",
        _ => return None,
    };
    let scope = &evidence.header.scope.namespaces;
    let is_outside = |namespace: &str| !namespace.is_empty() && !scope.iter().any(|name| name == namespace);
    let is_of_hub = matches!(object_kind, "Namespace" | "Secret") || scope.is_empty();
    let mut objects = evidence.unreadable.iter().filter(|unreadable| {
        let object = &unreadable.object;
        let may_be_of_kind = object.kind.is_empty() || object.kind == object_kind;
        may_be_of_kind && (is_of_hub || !is_outside(&object.namespace))
    });
    let first = objects.next()?;
    let more = match objects.count() {
        0 => String::new(),
        more => format!(" (and {more} more like it)"),
    };
    Some(format!("{first}{more}"))
}

/// The gaps of one kind, without those that the engine handles: interruptions of a watch or of a log of calls, and members
/// that did not answer.
fn gaps(rule: &Rule, evidence: &Evidence, kind: Kind) -> impl Iterator<Item = Reason> {
    let of_one_member = |gap: &&Gap| gap.kind == Kind::Members && gap.object.is_some();
    let is_judged_around = move |gap: &&Gap| {
        let is_recorded = matches!(
            kind,
            Kind::Timeline | Kind::PlacementTimeline | Kind::MemberCalls | Kind::PluginCalls | Kind::Outputs
        );
        is_recorded && gap.from.is_some() && rule.judges_around_gaps()
    };
    let missed = evidence
        .gaps(kind)
        .filter(move |gap| !of_one_member(gap) && !is_judged_around(gap));
    missed.map(|gap| match &gap.object {
        Some(object) => gap.reason.after(object),
        None => gap.reason.clone(),
    })
}

#[cfg(test)]
mod tests {
    use evidence::{Gap, Requested, api::Feature};

    use super::*;
    use crate::judging::judge::judge;

    fn prospect(evidence: &Evidence, id: &str) -> Prospect {
        let all = prospects(evidence, &Selection::default());
        let entry = all.into_iter().find(|(rule, _)| rule.id == id);
        entry.expect("a rule of the edition").1
    }

    #[test]
    fn each_need_of_a_rule_counts() {
        let mut evidence = Evidence::default();
        let requested = &mut evidence.header.requested;
        requested.insert(Kind::Inventory, Requested::Yes);
        requested.insert(Kind::Members, Requested::No("no member was contacted".into()));
        let lacks = |reason: &'static str| Prospect::Lacks(vec![reason.into()]);
        assert_eq!(prospect(&evidence, "version/well-formed"), Prospect::Judged);
        assert_eq!(
            prospect(&evidence, "version/matches-member"),
            lacks("no member was contacted")
        );
        evidence.header.requested.insert(Kind::Members, Requested::Yes);
        assert_eq!(prospect(&evidence, "version/matches-member"), Prospect::Judged);

        // One of two kinds is enough.
        let either = "identity/manager-immutable";
        assert!(matches!(prospect(&evidence, either), Prospect::Lacks(_)));
        evidence.header.requested.insert(Kind::Probe, Requested::Yes);
        assert_eq!(prospect(&evidence, either), Prospect::Judged);
        // What is asked for and known to be unavailable is none.
        evidence.gaps.push(Gap::of(Kind::Probe, "not allowed"));
        assert_eq!(prospect(&evidence, either), lacks("not allowed"));
    }

    #[test]
    fn a_skipped_rule_is_locked_by_what_it_waits_for() {
        let mut evidence = Evidence::default();
        evidence.header.requested.insert(Kind::Inventory, Requested::Yes);
        let kinds_of = |evidence: &Evidence, selection: &Selection, id: &str| -> Vec<Kind> {
            let locked = locked(&judge(evidence, selection), evidence).into_iter();
            let waiting = locked.filter(|(_, rules)| rules.iter().any(|rule| rule.id == id));
            waiting.map(|(kind, _)| kind).collect()
        };
        let all = Selection::default();
        assert_eq!(kinds_of(&evidence, &all, "version/well-formed"), []);
        assert_eq!(
            kinds_of(&evidence, &all, "version/matches-member"),
            [Kind::Members]
        );
        // One of two kinds is enough.
        let either = "identity/manager-immutable";
        assert_eq!(kinds_of(&evidence, &all, either), [Kind::Timeline, Kind::Probe]);
        evidence.header.requested.insert(Kind::Probe, Requested::Yes);
        assert_eq!(kinds_of(&evidence, &all, either), []);
        // Of several that are missing, the first counts.
        let both = "consumers/kubeconfig-works";
        assert_eq!(kinds_of(&evidence, &all, both), [Kind::Secrets]);
        let selection = Selection {
            filters: vec!["version/".to_owned()],
            ..Selection::default()
        };
        assert_eq!(kinds_of(&evidence, &selection, both), []);
    }

    #[test]
    fn what_does_not_count_lacks_nothing() {
        let mut evidence = Evidence::default();
        let id = "consumers/secret-has-kubeconfig";
        evidence.header.claim.no_features.insert(Feature::ConsumerSecrets);
        assert!(matches!(prospect(&evidence, id), Prospect::LeftOut(_)));
        let selection = Selection {
            filters: vec!["version/".to_owned()],
            ..Selection::default()
        };
        let all = prospects(&evidence, &selection);
        let counts = |(_, prospect): &&(&Rule, Prospect)| !matches!(prospect, Prospect::LeftOut(_));
        assert!(
            all.iter()
                .filter(counts)
                .all(|(rule, _)| rule.suite() == "version")
        );
        assert!(all.iter().any(|one| counts(&one)));
    }
}
