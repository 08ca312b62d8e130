//! The decision in words, with its basis.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Asked, Kind, ReasonId, api::Role, runs};
use jiff::SignedDuration;
use judge::{
    Count, Decision, Judgement, Part, RuleVerdict, Verdict,
    rules::{Basis, Level},
};

use crate::{
    Coverage, Report,
    text::{
        escape,
        number::{count, listed},
    },
};

/// The decision in one sentence; for several editions, a sentence for each.
pub fn headline(report: &Report) -> String {
    let judgement = report.judgement;
    let sentences: Vec<String> = judgement
        .parts()
        .iter()
        .map(|part| sentence(judgement, part))
        .collect();
    let sentences = sentences.join("; ");
    // Only waivers make the decision worse than the rules do.
    if judgement.decision > judgement.worst() {
        return format!("not conformant: a waiver has expired or waives nothing (strict); {sentences}");
    }
    sentences
}

/// The decision by one edition.
fn sentence(judgement: &Judgement, part: &Part) -> String {
    let Part { edition, tally, .. } = part;
    let must = &tally.must;
    let waived = match tally.waived() {
        0 => String::new(),
        waived => format!(", {} waived", count(waived, "rule")),
    };
    match part.decision {
        Decision::Conformant => format!("conformant with edition {edition}{waived}"),
        Decision::NoViolation => {
            let others = match must.judged() {
                0 => format!(" (and {})", count(tally.judged(), "other rule")),
                _ => String::new(),
            };
            format!(
                "no violation found: {} of {} judged{others}, edition {edition}{waived}",
                must.judged(),
                count(must.rules, "MUST rule")
            )
        }
        Decision::NotConformant => {
            let levels = [(Level::Must, ""), (Level::Should, ", strict")];
            let failing = levels
                .into_iter()
                .filter_map(|(level, remark)| failing(judgement, part, level, remark));
            let failing: Vec<String> = failing.collect();
            format!("not conformant with edition {edition}: {}", failing.join(", "))
        }
        Decision::Inconclusive => {
            let why = match must.inconclusive {
                _ if judgement.partial => "the run was cut short".to_owned(),
                0 => "no MUST rule was judged".to_owned(),
                number => format!("{} could not be judged", count(number, "MUST rule")),
            };
            format!("inconclusive for edition {edition}: {why}")
        }
    }
}

/// Counts the rules of a level that fail, by basis, such as `2 MUST rules fail (1 explicit, 1 derived)`.
fn failing(judgement: &Judgement, part: &Part, level: Level, remark: &str) -> Option<String> {
    let failing = judgement.verdicts.iter().filter(|verdict| {
        verdict.verdict == Verdict::Fail
            && verdict.level() == level
            && verdict.applies.edition == part.edition
    });
    let bases: Vec<Basis> = failing.map(RuleVerdict::basis).collect();
    let counts = [Basis::Explicit, Basis::Derived].into_iter().filter_map(|basis| {
        match (bases.iter().filter(|one| **one == basis).count(), bases.len()) {
            (0, _) => None,
            (_, 1) => Some(basis.to_string()),
            (number, _) => Some(format!("{number} {basis}")),
        }
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let verb = if bases.len() == 1 { "fails" } else { "fail" };
    let rules = count(bases.len(), &format!("{level} rule"));
    (!bases.is_empty()).then(|| format!("{rules} {verb} ({counts}{remark})"))
}

/// How long the run watched after the window, to be added to the length of the window.
pub fn more(coverage: &Coverage) -> String {
    let settled = coverage.settled.as_ref();
    settled.map_or_else(String::new, |settled| format!(" and {settled}"))
}

/// The basis of the decision, in one sentence.
pub fn scope(report: &Report) -> String {
    let (evidence, judgement) = (report.evidence, report.judgement);
    let coverage = Coverage::of(report);
    let must = &judgement.tally.must;
    let window = match coverage.watched {
        Some(window) => {
            format!("watched for {:#}", SignedDuration::from_secs(window.seconds())) + &more(&coverage)
        }
        None => "single snapshot".to_owned(),
    };
    // The headline of a run without a violation has said how many were judged.
    let judged = match judgement.parts()[..] {
        [
            Part {
                decision: Decision::NoViolation,
                ..
            },
        ] => format!("{} not judged", count(must.rules - must.judged(), "MUST rule")),
        _ => format!("{} of {} judged", must.judged(), count(must.rules, "MUST rule")),
    };
    let mut objects = count(coverage.profiles, "profile");
    if evidence.header.claim.edition_of(Role::Scheduler).is_some() {
        objects = format!("{} and {objects}", count(evidence.slices().count(), "slice"));
    }
    let unjudged = match in_words(unjudged(must)) {
        none if none.is_empty() => none,
        counts => format!(" ({counts})"),
    };
    let mut sentence = format!("{judged}{unjudged}, over {objects}, {window}");
    let scope = &evidence.header.scope;
    if !scope.namespaces.is_empty() {
        let only = if judgement.extent().confined { " only" } else { "" };
        sentence += &format!(", in {}{only}", escape::line(&scope.namespaces.join(", ")));
    }
    for (what, name) in [
        ("manager", &scope.cluster_manager),
        ("scheduler", &scope.scheduler),
    ] {
        if let Some(name) = name {
            sentence += &format!(", of {what} {} only", escape::line(name));
        }
    }
    if judgement.unjudged() > 0 {
        sentence += &format!("; {} cannot be judged yet", count(judgement.unjudged(), "rule"));
    }
    if let Some(others) = runs::left_out(&evidence.header.other_runs) {
        sentence += &format!("; {}", escape::line(&others));
    }
    sentence += &the_rest_needs(report);
    if let Some(why) = report.cut_short() {
        sentence += &format!("; partial: {}", escape::line(why));
    }
    sentence
}

/// What it takes to judge the MUST rules that were not judged, although nothing shows that they do not apply.
fn the_rest_needs(report: &Report) -> String {
    let verdicts = report.judgement.verdicts.iter();
    let unjudged: Vec<&RuleVerdict> = verdicts
        .filter(|verdict| verdict.level() == Level::Must && verdict.is_unjudged())
        .collect();
    let reasons: BTreeSet<ReasonId> = unjudged
        .iter()
        .filter_map(|verdict| verdict.reason_id())
        .collect();
    let has = |reason: ReasonId| reasons.contains(&reason);
    let absent: BTreeSet<&str> = unjudged
        .iter()
        .filter(|verdict| verdict.reason_id() == Some(ReasonId::FeatureAbsent))
        .filter_map(|verdict| Some(verdict.rule.facts.feature?.name()))
        .collect();
    let mut kinds = kinds_needed(report, &unjudged);
    // Without the feature, no rule needs them.
    kinds
        .retain(|kinds| absent.is_empty() || !matches!(kinds[..], [Kind::Secrets | Kind::UnlabelledSecrets]));
    let shows_more = |kinds: &Vec<Kind>| {
        matches!(
            kinds[..],
            [Kind::Timeline | Kind::PlacementTimeline | Kind::Driver]
        )
    };
    let is_more_seen = kinds.iter().any(shows_more);
    let mut needs: Vec<String> = kinds.iter().map(|kinds| alternatives(kinds)).collect();
    let mut known = BTreeSet::new();
    needs.retain(|need| known.insert(need.clone()));
    needs.extend(
        absent
            .iter()
            .map(|feature| format!("the feature {feature}, which was declared absent")),
    );
    if has(ReasonId::NothingHappened) && !is_more_seen {
        let has_driver = *report.evidence.asked(Kind::Driver) == Asked::Yes;
        let more = if has_driver { " that does more" } else { "" };
        needs.push(format!("a longer watch or a driver{more}"));
    }
    let is_consumer = report.judgement.edition.role() == Role::Consumer;
    for (is_needed, need) in [
        (
            has(ReasonId::ManagerNotNamed),
            "the users or field managers of the cluster manager named",
        ),
        (
            has(ReasonId::SchedulerNotNamed),
            "the users or field managers of the scheduler named",
        ),
        (has(ReasonId::NoConsumerUsers), "the users of consumers named"),
        (has(ReasonId::NoConsumer), "a consumer declared"),
        (has(ReasonId::NoClusterset), "a ClusterSet declared"),
        (has(ReasonId::NoMemberKubeconfig), "members asked"),
        (has(ReasonId::NoSecretTried), "the Secrets of consumers tried"),
        (has(ReasonId::Deselected), "all rules selected"),
        (
            is_consumer && has(ReasonId::NotRequested),
            "more claims of the consumer",
        ),
        (report.judgement.extent().confined, "all namespaces"),
    ] {
        if is_needed && !needs.iter().any(|known| known == need) {
            needs.push(need.to_owned());
        }
    }
    // Inconclusive rules have all requested evidence, and say themselves what they lack.
    let subject = match report.judgement.tally.must.inconclusive {
        0 => "the rest needs",
        _ => "the others need",
    };
    listed(&needs).map_or_else(String::new, |needs| format!("; {subject} {needs}"))
}

/// The kinds of evidence that rules wait for, each with its alternatives, those of the most rules first. Each rule counts
/// for the first kind that it waits for.
fn kinds_needed(report: &Report, unjudged: &[&RuleVerdict]) -> Vec<Vec<Kind>> {
    let mut waiting: BTreeMap<Kind, BTreeSet<&str>> = BTreeMap::new();
    for (kind, rules) in judge::locked(report.judgement, report.evidence) {
        let ids = rules.iter().map(|rule| rule.id);
        let ids = ids.filter(|id| unjudged.iter().any(|verdict| verdict.rule.id == *id));
        waiting.insert(kind, ids.collect());
    }
    // A rule that waits for one kind only leaves no choice.
    let only = |id: &str, waiting: &BTreeMap<Kind, BTreeSet<&str>>| {
        waiting.values().filter(|rules| rules.contains(id)).count() == 1
    };
    let mut needed = Vec::new();
    loop {
        let rank = |rules: &BTreeSet<&str>| (rules.iter().any(|id| only(id, &waiting)), rules.len());
        let first = waiting.iter().rev().max_by_key(|(_, rules)| rank(rules));
        let Some((kind, rules)) = first.filter(|(_, rules)| !rules.is_empty()) else {
            return needed;
        };
        let (kind, covered) = (*kind, rules.clone());
        let others = waiting
            .iter()
            .filter(|(other, rules)| **other != kind && **rules == covered);
        needed.push(
            [kind]
                .into_iter()
                .chain(others.map(|(other, _)| *other))
                .collect(),
        );
        for rules in waiting.values_mut() {
            rules.retain(|id| !covered.contains(id));
        }
    }
}

/// Alternatives in words, such as `the audit log (or managedFields)`.
fn alternatives(kinds: &[Kind]) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| kind_in_words(*kind)).collect();
    match &words[..] {
        [only] => (*only).to_owned(),
        [first, others @ ..] => format!("{first} (or {})", others.join(" or ")),
        [] => String::new(),
    }
}

/// A kind of evidence in a sentence.
fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Timeline | Kind::PlacementTimeline => "a watch",
        Kind::Secrets | Kind::UnlabelledSecrets => "the Secrets of consumers",
        Kind::Requests => "the audit log",
        Kind::Members => "members asked",
        Kind::Driver => "a driver",
        Kind::Probe => "dry runs",
        Kind::Writers => "managedFields",
        Kind::Plugins => "credential plugins",
        Kind::PlacementDecisions => "placement decisions",
        other => other.name(),
    }
}

/// Describes what is waived of a rule, until when and why.
pub(crate) fn waived(judgement: &Judgement, verdict: &RuleVerdict) -> String {
    let mut by_waiver: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, place) in &verdict.waived {
        *by_waiver.entry(*place).or_default() += 1;
    }
    let parts = by_waiver.into_iter().map(|(place, number)| {
        let waiver = &judgement.waivers[place].waiver;
        let violations = count(number, "violation");
        format!(
            "{violations} until {}: {} ({})",
            waiver.expires, waiver.reason, waiver.link
        )
    });
    format!("waived: {}", parts.collect::<Vec<_>>().join("; "))
}

/// The number of rules with each verdict that occurs, such as `16 passed, 1 failed`.
pub(crate) fn counts(count: &Count) -> String {
    let judged = [
        (count.passed, "passed"),
        (count.failed, "failed"),
        (count.warned, "warned"),
        (count.waived, "waived"),
    ];
    in_words(judged.into_iter().chain(unjudged(count)))
}

fn unjudged(count: &Count) -> [(usize, &'static str); 3] {
    [
        (count.inconclusive, "inconclusive"),
        (count.not_applicable, "not applicable"),
        (count.skipped, "skipped"),
    ]
}

fn in_words(counts: impl IntoIterator<Item = (usize, &'static str)>) -> String {
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    let counts = counts.map(|(number, what)| format!("{number} {what}"));
    counts.collect::<Vec<_>>().join(", ")
}
