//! What the verdict on a part of a record must have to do with the verdict on the whole.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap, History, Kind, ObjectKey, ObjectRef, Tracked, api::ClusterProfile};
use jiff::{SignedDuration, Timestamp};
use judge::{RuleVerdict, Verdict, rules::Level};

use super::{World, judged, less};

/// A law that the judge breaks: of which rule, and how.
#[derive(Clone, Debug)]
pub struct LawViolation {
    pub law: Law,
    pub rule: &'static str,
    pub how: String,
}

/// What must hold, whatever a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// A kept rule is not found broken.
    Blames,
    /// A broken rule is not found broken on other objects.
    BlamesOthers,
    /// A violation whose evidence is complete does not pass.
    Passes,
    /// A violation that lasts in what was seen without interruption does not pass.
    PassesInPart,
}

/// Laws that a rule may break, everywhere or with one fault.
const EXCEPTIONS: [(Law, &str, Option<&str>); 2] = [
    // The lab's clock stands still while a scheduler deletes and re-creates a slice. A late delivery shows the time between
    // the two, in which the decision was torn.
    (Law::Blames, "placement-updates/no-torn-reschedule", None),
    // A record that begins after a profile was deleted does not show that it ever existed. It shows that its reference
    // does not resolve.
    (
        Law::Blames,
        "placement-references/resolve",
        Some("placement-references/resolve-across-time"),
    ),
];

/// Whether that law may be broken by that rule.
pub fn is_excused(world: &World, (law, rule): (Law, &str)) -> bool {
    let mut exceptions = EXCEPTIONS.iter();
    exceptions.any(|(excused, of, fault)| {
        (*excused, *of) == (law, rule) && (fault.is_none() || *fault == world.plot.fault)
    })
}

/// What was watched without interruption decides if it is longer than the grace and the delay of a watch.
const ENOUGH: SignedDuration = SignedDuration::from_secs(150);

/// How late a watch may be (`time::LATE`): a change so shortly before a gap may be missing.
const LATE: SignedDuration = SignedDuration::from_secs(10);

/// Rules that compare objects of all namespaces.
const COMPARES: &str = "
clustersets/namespace-labelled clustersets/one-set-per-cluster consumers/consumer-name-unique
consumers/declared-consumer-served consumers/kubeconfig-points-at-member consumers/kubeconfig-self-contained
consumers/kubeconfig-works consumers/least-privilege consumers/secret-has-kubeconfig consumers/secret-labelled
consumers/secret-names-profile consumers/secret-namespace-labelled consumers/secret-single-consumer
identity/manager-unique identity/name-unique identity/one-manager-per-profile identity/one-profile-per-cluster
placement-references/resolve placement-references/resolve-across-time placement-references/selected-is-alive
updates/distinct-appliers";

fn compares(rule: &str) -> bool {
    COMPARES.split_whitespace().any(|known| known == rule)
}

/// The laws that the judgement of a part of a world's record breaks.
pub fn violations(world: &World, less: &Evidence) -> Vec<LawViolation> {
    let mut violations = Vec::new();
    for (rule, verdict) in judged(less) {
        let whole = &world.verdicts[rule];
        let passes = || {
            if !is_broken(whole) || verdict.verdict != Verdict::Pass {
                None
            } else if has_whole_evidence(whole, &world.whole, less) {
                Some((Law::Passes, describe(whole)))
            } else {
                broken_part(world, less, whole).map(|how| (Law::PassesInPart, how))
            }
        };
        let broken = blames(whole, &verdict).or_else(passes);
        violations.extend(broken.map(|(law, how)| LawViolation { law, rule, how }));
    }
    violations
}

/// Whether a rule finds more than a remark. A MAY is advice.
fn is_broken(verdict: &RuleVerdict) -> bool {
    verdict.level() != Level::May
        && matches!(verdict.verdict, Verdict::Fail | Verdict::Warn)
        && !objects(verdict).is_empty()
}

fn objects(verdict: &RuleVerdict) -> BTreeSet<(String, ObjectKey)> {
    let findings = verdict.findings.iter().filter(|finding| !finding.advisory);
    let key = |object: &ObjectRef| (object.kind.clone(), ObjectKey::from(object));
    findings.map(|finding| key(&finding.object)).collect()
}

fn describe(verdict: &RuleVerdict) -> String {
    let findings = verdict.findings.iter().filter(|finding| !finding.advisory);
    let findings: Vec<String> = findings.take(3).map(|finding| format!("{finding:?}")).collect();
    findings.join("\n    ")
}

fn blames(whole: &RuleVerdict, part: &RuleVerdict) -> Option<(Law, String)> {
    if !is_broken(part) {
        return None;
    }
    if !is_broken(whole) {
        // The whole record may be too little to decide.
        return (whole.verdict != Verdict::Inconclusive).then(|| (Law::Blames, describe(part)));
    }
    let new = &objects(part) - &objects(whole);
    (!new.is_empty()).then(|| (Law::BlamesOthers, format!("{new:?}\n    {}", describe(part))))
}

/// Whether all evidence is there that the verdict on the whole record rests on: each kind that helps the rule, and the
/// histories of what it found, gaps or not.
fn has_whole_evidence(verdict: &RuleVerdict, whole: &Evidence, less: &Evidence) -> bool {
    let facts = &verdict.rule.facts;
    let lists = [&facts.needs, &facts.needs_one_of, &facts.helped_by];
    let mut kinds = lists.into_iter().flatten();
    let (whole_header, header) = (&whole.header, &less.header);
    let is_same_otherwise = whole_header.window == header.window
        && whole_header.scope == header.scope
        && whole_header.clock_skew_ms == header.clock_skew_ms
        && whole_header.settled == header.settled
        && whole.unreadable == less.unreadable
        && whole.namespaces == less.namespaces
        && whole.driver == less.driver
        && whole.requests == less.requests
        && whole.slice_requests == less.slice_requests;
    is_same_otherwise
        && kinds.all(|kind| has_same(*kind, whole, less))
        && !comes_with_a_gap(&less.profiles, less, verdict)
        && !comes_with_a_gap(&less.slices, less, verdict)
        && has_same_history(&whole.profiles, &less.profiles, verdict)
        && has_same_history(&whole.slices, &less.slices, verdict)
}

/// Whether a version came just when a gap ended: the change may have happened at any moment in it.
fn comes_with_a_gap<T: Tracked>(histories: &[History<T>], less: &Evidence, verdict: &RuleVerdict) -> bool {
    let ends: BTreeSet<Timestamp> = less.gaps(T::WATCHED).filter_map(|gap| gap.until).collect();
    let mut versions = concerned(histories, verdict).flat_map(|history| &history.versions);
    versions.any(|version| version.at.is_some_and(|at| ends.contains(&at)))
}

fn has_same(kind: Kind, whole: &Evidence, less: &Evidence) -> bool {
    let gaps = |evidence: &Evidence| -> Vec<Gap> { evidence.gaps(kind).cloned().collect() };
    whole.requested(kind) == less.requested(kind)
        && match kind {
            // Objects are compared one by one, and their managedFields with them.
            Kind::Inventory | Kind::PlacementDecisions | Kind::Timeline | Kind::PlacementTimeline => true,
            Kind::Namespaces => whole.namespaces == less.namespaces,
            Kind::Secrets => whole.secrets == less.secrets && whole.logins == less.logins,
            Kind::UnlabelledSecrets => whole.unlabelled_secrets == less.unlabelled_secrets,
            Kind::Members | Kind::Plugins => {
                whole.members == less.members
                    && whole.logins == less.logins
                    && whole.endpoint_calls == less.endpoint_calls
            }
            Kind::Requests | Kind::Driver | Kind::Writers => gaps(whole) == gaps(less),
            Kind::Probe => whole.probes == less.probes,
            // Evidence of consumers.
            _ => true,
        }
}

/// Whether what was found has the same history.
fn has_same_history<T: Tracked>(whole: &[History<T>], less: &[History<T>], verdict: &RuleVerdict) -> bool {
    let is_of_this_kind = objects(verdict).iter().all(|(kind, _)| kind == T::KIND);
    if !is_of_this_kind {
        return whole == less;
    }
    concerned(whole, verdict).eq(concerned(less, verdict))
}

/// The histories that a verdict rests on. A rule that compares may have found an object next to any other.
fn concerned<'h, T: Tracked>(
    histories: &'h [History<T>],
    verdict: &RuleVerdict,
) -> impl Iterator<Item = &'h History<T>> {
    let objects = objects(verdict);
    let is_compared = compares(verdict.rule.id) || T::KIND != ClusterProfile::KIND;
    histories.iter().filter(move |history| {
        is_compared || objects.contains(&(T::KIND.to_owned(), ObjectKey::of(history.last())))
    })
}

/// Whether some time that was surely watched without interruption shows the violation by itself: a run of that time alone
/// finds the same.
fn broken_part(world: &World, less: &Evidence, whole: &RuleVerdict) -> Option<String> {
    use Kind::{Inventory, PlacementDecisions, PlacementTimeline, Timeline};
    let facts = &whole.rule.facts;
    let lists = [&facts.needs, &facts.needs_one_of, &facts.helped_by];
    let of_objects = [Inventory, Timeline, PlacementDecisions, PlacementTimeline];
    let needs_objects_only = lists.into_iter().flatten().all(|kind| of_objects.contains(kind));
    let (whole_header, header) = (&world.whole.header, &less.header);
    let is_same_otherwise = whole_header.scope == header.scope
        && whole_header.clock_skew_ms == header.clock_skew_ms
        && world.whole.unreadable == less.unreadable
        && world.whole.driver.is_none();
    if !needs_objects_only || !is_same_otherwise || compares(whole.rule.id) {
        return None;
    }
    let window = header.window?;
    let gaps = less
        .gaps
        .iter()
        .filter(|gap| matches!(gap.kind, Timeline | PlacementTimeline));
    let period = |gap: &Gap| {
        let from = gap.from.map_or(window.from, |from| from - LATE);
        (from, gap.until.unwrap_or(window.until))
    };
    let mut gaps: Vec<(Timestamp, Timestamp)> = gaps.map(period).collect();
    gaps.push((window.until, window.until));
    gaps.sort();
    let mut began = window.from;
    for (end, next) in gaps {
        if end.duration_since(began) >= ENOUGH {
            let part = judged(&less::as_of(&less::since(&world.whole, began), end));
            let verdict = &part[whole.rule.id];
            if is_broken(verdict) && objects(verdict).is_subset(&objects(whole)) {
                return Some(format!("{began} to {end}: {}", describe(verdict)));
            }
        }
        began = began.max(next);
    }
    None
}
