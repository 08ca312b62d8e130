//! References to profiles that do not exist.

use std::collections::HashMap;

use evidence::{
    Evidence,
    api::syntax::{is_dns_label, is_dns_subdomain},
};

use super::{
    doubts::{Doubt, Doubts, path},
    faults::{Faults, Words},
    fleet::Fleet,
    naming::{Key, namings},
    selections::Selections,
};
use crate::{
    subjects::Findings,
    time::{Known, Micros, SECOND, Set, While},
};

/// How long a scheduler and the manager of a profile may be apart: the ledger's grace of 60 s for references.
const GRACE: Micros = 60 * SECOND;

/// `placement-references/resolve`
///
/// Every reference is to a ClusterProfile that exists when the decision is written, or soon after.
///
/// A reference whose profile goes later is for `placement-references/resolve-across-time`, however often the scheduler
/// writes it again or moves it to another slice.
pub(in crate::rules) fn resolve(evidence: &Evidence, findings: &mut Findings) {
    findings.nothing_happened("no slice names a cluster");
    let words = Words {
        message: "the decision refers to a ClusterProfile that does not exist",
        expected: "references to ClusterProfiles that exist".to_owned(),
    };
    let examined = examine(evidence, findings, &words, |gone, selected| {
        gone.is_none_or(|gone| selected > gone + GRACE)
    });
    for _ in 0..examined.slices {
        findings.examine();
    }
    if examined.in_time > 0 {
        findings.note(format!(
            "{} references did not resolve at first, but within the grace of {} s",
            examined.in_time,
            GRACE / SECOND
        ));
    }
}

/// `placement-references/resolve-across-time`
///
/// A scheduler drops a ClusterProfile from its decisions soon after the profile was deleted.
pub(in crate::rules) fn resolve_across_time(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no ClusterProfile was deleted while a decision named it");
    let words = Words {
        message: "the decision keeps a ClusterProfile that was deleted",
        expected: format!("dropped within {} s of the deletion", GRACE / SECOND),
    };
    // A reference that was made long after the deletion never resolved.
    let examined = examine(evidence, findings, &words, |gone, selected| {
        gone.is_some_and(|gone| selected <= gone + GRACE)
    });
    for _ in 0..examined.stretches {
        findings.examine();
    }
}

/// What was examined.
#[derive(Default)]
struct Examined {
    /// Slices that name a cluster.
    slices: usize,
    /// Stretches of time in which a reference did not resolve and that were for the rule.
    stretches: usize,
    /// Those of them that ended within the grace.
    in_time: usize,
}

/// Reports the references of each slice that did not resolve for longer than the grace. `counts` tells whether the rule is
/// about a reference: when its profile was deleted, if it ever existed, and when the decision began to name it.
fn examine(
    evidence: &Evidence,
    findings: &mut Findings,
    words: &Words,
    counts: impl Fn(Option<Micros>, Micros) -> bool,
) -> Examined {
    let fleet = Fleet::of(evidence);
    let mut examined = Examined::default();
    let mut doubts = Doubts::default();
    let namings = namings(evidence, |key, _| {
        // A name that no profile can have is for `placement-references/name-valid`.
        let is_wanted = !fleet.is_always_there(key) && is_possible(key) && !evidence.is_touched(key.0, key.1);
        is_wanted.then_some(true)
    });
    let selections = Selections::of(&namings);
    let mut absent: HashMap<Key, While> = HashMap::new();
    for naming in &namings {
        examined.slices += naming.lives;
        let mut faults = Faults::default();
        for named in &naming.wanted {
            let key = named.key;
            if !fleet.is_watched {
                if named.when.is_open() && !fleet.exists(key) {
                    match fleet.doubt(key) {
                        Some(doubt) => doubts.add(doubt, named),
                        None => faults.add_look(named, path(key)),
                    }
                }
                continue;
            }
            let absent = absent.entry(key).or_insert_with(|| fleet.absent(key));
            let dangling = named.when.and(absent);
            let is_its = |span: &&(Micros, Micros)| {
                counts(fleet.gone_since(key, span.0), selections.since(named, span.0))
            };
            let others = Set::of(dangling.told().iter().filter(|span| !is_its(span)).copied());
            let dangling = dangling.without(&others);
            let times = dangling.told().len();
            if times == 0 {
                // A gap hides all of it.
                let is_open = dangling.is_open() && others.is_empty() && dangling.is_hidden(GRACE);
                if is_open && is_its(&&(Micros::MAX, Micros::MAX)) {
                    doubts.add(fleet.doubt(key).unwrap_or(Doubt::TooEarly), named);
                }
                continue;
            }
            examined.stretches += times;
            match (dangling.lasting_beyond_sight(GRACE), fleet.doubt(key)) {
                (Known::No, _) => examined.in_time += times,
                (_, Some(doubt)) => doubts.add(doubt, named),
                (Known::Yes, None) => faults.add(named, path(key), &dangling, GRACE),
                (Known::Unknown(_), None) if dangling.is_open() => doubts.wait(named, findings),
                (Known::Unknown(_), None) => doubts.add(Doubt::TooEarly, named),
            }
        }
        faults.report(findings, words);
    }
    doubts.tell(findings);
    examined
}

/// Whether a profile can have that name.
fn is_possible((namespace, name): Key) -> bool {
    is_dns_subdomain(name) && is_dns_label(namespace)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evidence::{ObjectKey, ObjectRef, Unreadable, api::Edition};
    use serde_json::{Value, json};

    use super::*;
    use crate::{rules::example::Example, subjects::Conclusion};

    fn evidence(world: Value) -> Evidence {
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Placement2025M09).expect("a world");
        example.evidence().clone()
    }

    fn judged(evidence: &Evidence) -> Conclusion {
        let mut findings = Findings::default();
        resolve(evidence, &mut findings);
        findings.conclude()
    }

    /// A slice that names `a` and `b`, of which neither exists.
    fn dangling() -> Evidence {
        evidence(json!({"observe": "5m", "profiles": [], "slices": [{"decisions": ["a", "b"]}]}))
    }

    #[test]
    fn a_profile_that_could_not_be_read_may_be_the_one() {
        let mut evidence = dangling();
        evidence.unreadable.push(Unreadable {
            object: ObjectRef {
                kind: "ClusterProfile".to_owned(),
                namespace: "default".to_owned(),
                name: "a".to_owned(),
                ..ObjectRef::default()
            },
            message: "status is a text".to_owned(),
        });
        let findings = judged(&evidence);
        let observed: Vec<&str> = findings.list.iter().map(|finding| &*finding.observed).collect();
        assert_eq!(
            observed,
            ["default/b; for 300 s when the window ended (grace: 60 s), since 2026-01-01T00:00:00Z"]
        );
        let reason =
            "a ClusterProfile that could not be read may be default/a, to which slice default/web-0 refers";
        assert_eq!(findings.doubts, [reason]);
        evidence.unreadable[0].object = ObjectRef::default();
        let findings = judged(&evidence);
        assert!(findings.list.is_empty(), "{findings:?}");
        assert_eq!(
            findings.doubts,
            [format!("{reason} (and 1 more reference like it)")]
        );
    }

    #[test]
    fn a_profile_that_the_run_did_not_wait_for_may_have_come() {
        let mut evidence = evidence(json!({
            "observe": "2m", "settle": "130s", "profiles": [{}], "slices": [{"decisions": ["a"]}],
            "steps": [{"at": "110s", "change": {"decisions": ["a", "z"]}}],
        }));
        assert_eq!(judged(&evidence).list.len(), 1);
        evidence.later.missing.clear();
        let mut findings = Findings::default();
        resolve(&evidence, &mut findings);
        let names = |keys: &BTreeSet<ObjectKey>| keys.iter().map(|key| key.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&findings.open().profiles), ["z"]);
        assert_eq!(names(&findings.open().slices), ["web-0"]);
        let findings = findings.conclude();
        assert!(
            findings.list.is_empty() && findings.doubts.len() == 1,
            "{findings:?}"
        );
    }

    #[test]
    fn profiles_of_another_run_come_and_go() {
        let mut evidence = dangling();
        for name in ["a", "b"] {
            evidence.header.other_runs.insert(ObjectKey {
                namespace: "default".to_owned(),
                name: name.to_owned(),
            });
        }
        let findings = judged(&evidence);
        assert!(
            findings.list.is_empty() && findings.doubts.is_empty(),
            "{findings:?}"
        );
    }

    #[test]
    fn time_before_the_profiles_were_listed_is_not_confirmed() {
        let mut evidence = evidence(json!({
            "observe": "5m",
            "profiles": [{"metadata": {"name": "c"}}],
            "slices": [{"decisions": ["a"]}],
            "steps": [{"at": "80s", "change": {"decisions": ["c"]}}],
        }));
        assert_eq!(judged(&evidence).list.len(), 1);
        let listed = &mut evidence.profiles[0].versions[0];
        let late = listed.received() + jiff::SignedDuration::from_secs(30);
        listed.at = Some(late);
        let findings = judged(&evidence);
        assert!(
            findings.list.is_empty() && findings.doubts.len() == 1,
            "{findings:?}"
        );
    }
}
