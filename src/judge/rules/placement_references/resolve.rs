//! References to profiles that do not exist.

use evidence::{
    Evidence,
    api::syntax::{is_dns_label, is_dns_subdomain},
};

use super::{
    doubts::{Doubt, Doubts, path},
    faults::{Faults, Stretch, Weight, Words},
    fleet::{Fleet, Watched},
    naming::{Key, Named, naming},
};
use crate::rules::{
    finding::Findings,
    write_time::{Micros, SECOND},
};

/// How long a scheduler and the manager of a profile may be apart: the ledger's grace of 60 s for references.
const GRACE: Micros = 60 * SECOND;

/// `placement-references/resolve`
///
/// Every reference is to a ClusterProfile that exists when the decision is written, or soon after.
///
/// A reference whose profile goes later is for `placement-references/resolve-across-time`, unless the scheduler then
/// writes it once more.
pub(in crate::rules) fn resolve(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no slice names a cluster");
    let words = Words {
        message: "the decision refers to a ClusterProfile that does not exist",
        expected: "references to ClusterProfiles that exist".to_owned(),
    };
    let examined = examine(evidence, findings, &words, |fleet, key, named, stretch| {
        from_writing(fleet.gone_since(key, stretch.span.0), named, stretch)
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
    let examined = examine(evidence, findings, &words, |fleet, key, named, stretch| {
        let gone = fleet.gone_since(key, stretch.span.0)?;
        let written = named
            .written
            .iter()
            .rev()
            .find(|written| **written <= stretch.span.0)?;
        // A decision that was written long after the deletion never resolved.
        (*written <= gone + GRACE).then_some(stretch)
    });
    for _ in 0..examined.stretches {
        findings.examine();
    }
}

/// The part of a stretch that follows a writing of the decision rather than the deletion of the profile.
fn from_writing(gone: Option<Micros>, named: &Named, stretch: Stretch) -> Option<Stretch> {
    let Some(gone) = gone else {
        return Some(stretch);
    };
    let (from, until) = stretch.span;
    let mut written = named.written.iter().copied();
    let written = written.find(|written| *written > gone + GRACE && *written < until)?;
    Some(Stretch {
        span: (written.max(from), until),
        is_older: stretch.is_older && written <= from,
        ..stretch
    })
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

/// Reports the references of each slice that did not resolve for longer than the grace. `counts` gives the part of a
/// stretch without a profile that the rule is about.
fn examine<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    words: &Words,
    counts: impl Fn(&Fleet<'e>, Key<'e>, &Named, Stretch) -> Option<Stretch>,
) -> Examined {
    let fleet = Fleet::of(evidence);
    let mut examined = Examined::default();
    let mut doubts = Doubts::default();
    for history in evidence.slice_histories() {
        let naming = naming(evidence, history, |key, _| {
            // A name that no profile can have is for `placement-references/name-valid`.
            !fleet.is_always_there(key) && is_possible(key) && !evidence.is_touched(key.0, key.1)
        });
        examined.slices += usize::from(naming.is_any);
        let mut faults = Faults::default();
        let watched = Watched::of(evidence, history);
        for (key, named) in &naming.wanted {
            if !fleet.is_watched {
                if named.is_current_in(history) && !fleet.exists(*key) {
                    match fleet.doubt(*key) {
                        Some(doubt) => doubts.add(doubt, *key, named),
                        None => faults.add_look(named, path(*key)),
                    }
                }
                continue;
            }
            let confirmed = fleet.confirmed(&watched, *key, named);
            let stretches = confirmed.without(&fleet.existence(*key)).into_iter();
            let stretches: Vec<Stretch> = stretches
                .filter_map(|stretch| counts(&fleet, *key, named, stretch))
                .collect();
            examined.stretches += stretches.len();
            let Some((weight, longest)) = Stretch::gravest(&stretches, GRACE) else {
                continue;
            };
            match (weight, fleet.doubt(*key)) {
                (Weight::Passed, _) => examined.in_time += stretches.len(),
                (_, Some(doubt)) => doubts.add(doubt, *key, named),
                (Weight::Unsure, None) => doubts.add(Doubt::TooEarly, *key, named),
                (Weight::Violation, None) => faults.add(named, path(*key), longest),
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
