//! What the verdict on a part of a record must have to do with the verdict on the whole.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap, Kind, ObjectKey, ObjectRef};
use judge::{RuleVerdict, Verdict, rules::Level};

use super::{World, judged};

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

/// The laws that the judgement of a part of a world's record breaks.
pub fn violations(world: &World, less: &Evidence) -> Vec<LawViolation> {
    let mut violations = Vec::new();
    for (rule, verdict) in judged(less) {
        let whole = &world.verdicts[rule];
        let passes = || {
            let is_wrong = is_broken(whole)
                && verdict.verdict == Verdict::Pass
                && has_whole_evidence(whole, &world.whole, less);
            is_wrong.then(|| (Law::Passes, describe(whole)))
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

/// Whether all evidence is there that the verdict on the whole record rests on: all objects, and each kind that helps the
/// rule.
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
        && whole.slice_requests == less.slice_requests
        && whole.profiles == less.profiles
        && whole.slices == less.slices;
    is_same_otherwise && kinds.all(|kind| has_same(*kind, whole, less))
}

fn has_same(kind: Kind, whole: &Evidence, less: &Evidence) -> bool {
    let gaps = |evidence: &Evidence| -> Vec<Gap> { evidence.gaps(kind).cloned().collect() };
    whole.asked(kind) == less.asked(kind)
        && match kind {
            Kind::Secrets => whole.secrets == less.secrets && whole.logins == less.logins,
            Kind::UnlabelledSecrets => whole.unlabelled_secrets == less.unlabelled_secrets,
            Kind::Members | Kind::Plugins => {
                whole.members == less.members
                    && whole.logins == less.logins
                    && whole.endpoint_calls == less.endpoint_calls
            }
            Kind::Requests | Kind::Driver | Kind::Writers => gaps(whole) == gaps(less),
            Kind::Probe => whole.probes == less.probes,
            // Compared above, or evidence of consumers.
            _ => true,
        }
}
