//! What the verdict on a part of a record must have to do with the verdict on the whole.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap, History, Kind, ObjectKey, Tracked, api::ClusterProfile};
use jiff::{SignedDuration, Timestamp};
use judge::{RuleVerdict, Verdict, rules::Level};

use super::{
    less,
    worlds::{Verdicts, World, judged, key},
};

/// A law that the judge breaks: of which rule, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    pub law: Law,
    pub rule: &'static str,
    pub how: String,
}

/// What must hold, whatever a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// What is kept is not found broken.
    Blames,
    /// A broken rule is not found broken on other objects.
    BlamesOthers,
    /// A fault whose evidence is all there does not pass.
    Passes,
    /// Nor does one that lasts in what was seen without interruption.
    PassesInPart,
}

/// What was watched without interruption tells something if it is longer than the grace and what a watch may be late.
const ENOUGH: SignedDuration = SignedDuration::from_secs(150);

/// How late a watch may be (`time::LATE`): what happened so shortly before a gap may never have been told.
const LATE: SignedDuration = SignedDuration::from_secs(10);

/// Rules that compare objects of all namespaces.
const COMPARES: [&str; 21] = [
    "clustersets/namespace-labelled",
    "clustersets/one-set-per-cluster",
    "consumers/consumer-name-unique",
    "consumers/declared-consumer-served",
    "consumers/kubeconfig-points-at-member",
    "consumers/kubeconfig-self-contained",
    "consumers/kubeconfig-works",
    "consumers/least-privilege",
    "consumers/secret-has-kubeconfig",
    "consumers/secret-labelled",
    "consumers/secret-names-profile",
    "consumers/secret-namespace-labelled",
    "consumers/secret-single-consumer",
    "identity/manager-unique",
    "identity/name-unique",
    "identity/one-manager-per-profile",
    "identity/one-profile-per-cluster",
    "placement-references/resolve",
    "placement-references/resolve-across-time",
    "placement-references/selected-is-alive",
    "updates/distinct-appliers",
];

/// What is broken of the laws in the judgement of a part of a world's record.
pub fn breaches(world: &World, less: &Evidence) -> Vec<Breach> {
    let seen = judged(less);
    let mut breaches = Vec::new();
    for (rule, verdict) in &seen {
        let whole = &world.verdicts[rule];
        let mut add = |law, how| breaches.push(Breach { law, rule, how });
        if let Some((law, how)) = blames(whole, verdict) {
            add(law, how);
        }
        if is_broken(whole) && verdict.verdict == Verdict::Pass {
            if stands(whole, &world.whole, less) {
                add(Law::Passes, describe(whole));
            } else if let Some(how) = stands_in_part(world, less, whole) {
                add(Law::PassesInPart, how);
            }
        }
    }
    breaches
}

/// Whether a rule finds more than a remark. What may be done is advice.
fn is_broken(verdict: &RuleVerdict) -> bool {
    verdict.level() != Level::May
        && matches!(verdict.verdict, Verdict::Fail | Verdict::Warn)
        && !objects(verdict).is_empty()
}

fn objects(verdict: &RuleVerdict) -> BTreeSet<(String, ObjectKey)> {
    let findings = verdict.findings.iter().filter(|finding| !finding.advisory);
    findings.map(|finding| key(&finding.object)).collect()
}

fn describe(verdict: &RuleVerdict) -> String {
    let findings = verdict.findings.iter().filter(|finding| !finding.advisory);
    let findings = findings.map(|finding| {
        format!(
            "{}: {}: {} (expected {}, observed {})",
            finding.object, finding.path, finding.message, finding.expected, finding.observed
        )
    });
    findings.take(3).collect::<Vec<_>>().join("\n    ")
}

fn blames(whole: &RuleVerdict, seen: &RuleVerdict) -> Option<(Law, String)> {
    if !is_broken(seen) {
        return None;
    }
    if !is_broken(whole) {
        // The whole record may be too little to tell.
        return (whole.verdict != Verdict::Inconclusive).then(|| (Law::Blames, describe(seen)));
    }
    let new = &objects(seen) - &objects(whole);
    (!new.is_empty()).then(|| (Law::BlamesOthers, format!("{new:?}\n    {}", describe(seen))))
}

/// Whether all evidence is there on which the verdict on the whole record stands: each kind that helps the rule, and the
/// histories of what it found, gaps or not.
fn stands(verdict: &RuleVerdict, whole: &Evidence, less: &Evidence) -> bool {
    let facts = &verdict.rule.facts;
    let lists = [&facts.needs, &facts.needs_one_of, &facts.helped_by];
    let mut kinds = lists.into_iter().flatten();
    let is_same_otherwise = whole.header.window == less.header.window
        && whole.header.scope == less.header.scope
        && whole.header.clock_skew_ms == less.header.clock_skew_ms
        && whole.header.settled == less.header.settled
        && whole.unreadable == less.unreadable
        && whole.namespaces == less.namespaces
        && whole.driver == less.driver
        && whole.requests == less.requests
        && whole.slice_requests == less.slice_requests;
    is_same_otherwise
        && kinds.all(|kind| has_same(*kind, whole, less))
        && !comes_with_a_gap(&less.profiles, less, verdict)
        && !comes_with_a_gap(&less.slices, less, verdict)
        && same(&whole.profiles, &less.profiles, verdict)
        && same(&whole.slices, &less.slices, verdict)
}

/// Whether something came just when a gap ended: it may have happened at any moment in it, so that its time tells less than
/// it seems to.
fn comes_with_a_gap<T: Tracked>(histories: &[History<T>], less: &Evidence, verdict: &RuleVerdict) -> bool {
    let ends: BTreeSet<Timestamp> = less.gaps(T::WATCHED).filter_map(|gap| gap.until).collect();
    let mut versions = concerned(histories, verdict).flat_map(|history| &history.versions);
    versions.any(|version| version.at.is_some_and(|at| ends.contains(&at)))
}

fn has_same(kind: Kind, whole: &Evidence, less: &Evidence) -> bool {
    let gaps = |evidence: &Evidence| -> Vec<Gap> { evidence.gaps(kind).cloned().collect() };
    whole.asked(kind) == less.asked(kind)
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
            Kind::Testbed | Kind::Outputs => whole.testbed == less.testbed,
            Kind::MemberCalls => whole.member_calls == less.member_calls,
            Kind::PluginCalls => whole.plugin_calls == less.plugin_calls,
            Kind::Mentions => whole.mentions == less.mentions,
        }
}

/// Whether what was found has the same history.
fn same<T: Tracked>(whole: &[History<T>], less: &[History<T>], verdict: &RuleVerdict) -> bool {
    let is_of_this_kind = objects(verdict).iter().all(|(kind, _)| kind == T::KIND);
    if !is_of_this_kind {
        return whole == less;
    }
    concerned(whole, verdict).eq(concerned(less, verdict))
}

/// The histories on which a verdict stands. A rule that compares may have found it beside any other.
fn concerned<'h, T: Tracked>(
    histories: &'h [History<T>],
    verdict: &RuleVerdict,
) -> impl Iterator<Item = &'h History<T>> {
    let found = objects(verdict);
    let compares = COMPARES.contains(&verdict.rule.id) || T::KIND != ClusterProfile::KIND;
    histories.iter().filter(move |history| {
        compares || found.contains(&(T::KIND.to_owned(), ObjectKey::of(history.last())))
    })
}

/// Whether some time that was surely watched without interruption shows the fault by itself: a run of that time alone
/// finds the same.
fn stands_in_part(world: &World, less: &Evidence, whole: &RuleVerdict) -> Option<String> {
    let facts = &whole.rule.facts;
    let of_objects = [
        Kind::Inventory,
        Kind::Timeline,
        Kind::PlacementDecisions,
        Kind::PlacementTimeline,
    ];
    let lists = [&facts.needs, &facts.needs_one_of, &facts.helped_by];
    let is_of_objects = lists.into_iter().flatten().all(|kind| of_objects.contains(kind));
    let (whole_header, header) = (&world.whole.header, &less.header);
    let is_same_otherwise = whole_header.scope == header.scope
        && whole_header.clock_skew_ms == header.clock_skew_ms
        && world.whole.unreadable == less.unreadable
        && world.whole.driver.is_none();
    if !is_of_objects || !is_same_otherwise || COMPARES.contains(&whole.rule.id) {
        return None;
    }
    let window = header.window?;
    let mut gaps: Vec<(Timestamp, Timestamp)> = less
        .gaps
        .iter()
        .filter(|gap| matches!(gap.kind, Kind::Timeline | Kind::PlacementTimeline))
        .map(|gap| {
            let from = gap.from.map_or(window.from, |from| from - LATE);
            (from, gap.until.unwrap_or(window.until))
        })
        .collect();
    gaps.sort();
    let mut began = window.from;
    let ends = gaps.into_iter().chain([(window.until, window.until)]);
    for (end, next) in ends {
        if end.duration_since(began) >= ENOUGH {
            let part: Verdicts = judged(&less::as_of(&less::since(&world.whole, began), end));
            let found = &part[whole.rule.id];
            if is_broken(found) && objects(found).is_subset(&objects(whole)) {
                return Some(format!("{began} to {end}: {}", describe(found)));
            }
        }
        began = began.max(next);
    }
    None
}
