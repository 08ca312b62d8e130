//! Finds the evidence that a rule needs and lacks.

use std::collections::{BTreeSet, HashSet};

use evidence::{Asked, Evidence, Gap, Kind, Reason, api::names};

use crate::rules::Rule;

/// Returns the kinds of evidence that a rule waits for, as they were not asked for: the first that it needs or, if it has
/// those, its alternatives.
pub(crate) fn waits_for(rule: &Rule, evidence: &Evidence) -> Vec<Kind> {
    let is_missing = |kind: &Kind| matches!(evidence.asked(*kind), Asked::No(_));
    match rule.facts.needs.iter().find(|kind| is_missing(kind)) {
        Some(kind) => vec![*kind],
        None => {
            let either = rule.facts.needs_one_of.iter().copied();
            either.filter(is_missing).collect()
        }
    }
}

/// Returns the gaps that keep a rule from passing: those in each kind that it needs and, if all alternatives have gaps,
/// those in the alternatives.
pub(crate) fn missing(rule: &Rule, evidence: &Evidence) -> Vec<Reason> {
    let of = |kind: &Kind| {
        let mut missed = gaps(rule, evidence, *kind);
        missed.extend(unreadable(evidence, *kind).map(Reason::from));
        missed
    };
    let mut missed: Vec<Reason> = rule.facts.needs.iter().flat_map(of).collect();
    let is_had = |kind: &Kind| evidence.is_whole(*kind) && unreadable(evidence, *kind).is_none();
    let either = &rule.facts.needs_one_of;
    if !either.iter().any(is_had) {
        missed.extend(either.iter().flat_map(of));
    }
    let mut told = BTreeSet::new();
    missed.retain(|reason| told.insert(reason.clone()));
    missed
}

/// Returns the objects of one kind of evidence that could not be read, and so were not examined. Profiles that are
/// known to be outside of the scope do not count.
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
    let mut objects = evidence.unreadable.iter().filter(|unreadable| {
        let object = &unreadable.object;
        let counts = object.kind.is_empty() || object.kind == object_kind;
        counts
            && (matches!(object_kind, "Namespace" | "Secret")
                || scope.is_empty()
                || !is_outside(&object.namespace))
    });
    let first = objects.next()?;
    let more = match objects.count() {
        0 => String::new(),
        more => format!(" (and {more} more like it)"),
    };
    Some(format!("{first}{more}"))
}

/// Returns the gaps of one kind, each cause once. Rules report the gaps of single members themselves: a member that its
/// manager reports as down is no gap. The engine judges around interruptions of a watch and of the logs of calls.
fn gaps(rule: &Rule, evidence: &Evidence, kind: Kind) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut told = HashSet::new();
    let of_one_member = |gap: &&Gap| gap.kind == Kind::Members && gap.object.is_some();
    let is_judged_around = |gap: &&Gap| {
        let is_recorded = matches!(
            kind,
            Kind::Timeline | Kind::PlacementTimeline | Kind::MemberCalls | Kind::PluginCalls | Kind::Outputs
        );
        is_recorded && gap.from.is_some() && rule.judges_around_gaps()
    };
    let missed = evidence
        .gaps(kind)
        .filter(|gap| !of_one_member(gap) && !is_judged_around(gap));
    for gap in missed {
        let reason = match &gap.object {
            Some(object) => gap.reason.after(object),
            None => gap.reason.clone(),
        };
        if told.insert(reason.clone()) {
            reasons.push(reason);
        }
    }
    reasons
}
