//! How large a testbed is judged at most.

use evidence::{Evidence, Log, Testbed};

/// The most profiles, addresses and scenes of a testbed that are judged. Rules compare each with all calls, and a run has a few
/// dozen of them: a file with more is none of a run.
const LARGEST: usize = 500;
/// The most calls of members, and the most of the plugin.
const MOST_CALLS: usize = 50_000;

/// Why a testbed is not judged, if it is larger than any run makes one.
pub(super) fn why_too_large(evidence: &Evidence, testbed: &Testbed) -> Option<String> {
    let counts = [
        evidence.profiles.len(),
        testbed.addresses.len(),
        testbed.scenarios.len(),
        testbed.hook_calls.len(),
        evidence.slices.len(),
    ];
    let calls = [
        count(&evidence.member_calls),
        count(&evidence.plugin_calls),
        references(evidence),
    ];
    let is_too_large =
        counts.iter().any(|count| *count > LARGEST) || calls.iter().any(|count| *count > MOST_CALLS);
    is_too_large.then(|| {
        format!(
            "the testbed is larger than that of any run: it has more than {LARGEST} profiles, decisions, addresses or scenes, \
             or more than {MOST_CALLS} calls"
        )
    })
}

fn count<T>(log: &Option<Log<T>>) -> usize {
    log.as_ref().map_or(0, |log| log.events.len())
}

/// How often the slices name a profile, in all of their versions.
fn references(evidence: &Evidence) -> usize {
    let versions = evidence.slices.iter().flat_map(|history| &history.versions);
    versions.map(|version| version.object.clusters().len()).sum()
}

#[cfg(test)]
mod tests {
    use evidence::{Kind, MemberAddress, ScenarioRun};
    use jiff::Timestamp;

    use super::{super::play::Play, *};
    use crate::subjects::Findings;

    fn doubts(addresses: usize) -> usize {
        let at = Timestamp::UNIX_EPOCH;
        let testbed = Testbed {
            addresses: vec![MemberAddress::default(); addresses],
            scenarios: vec![ScenarioRun {
                name: String::new(),
                control: String::new(),
                from: at,
                until: at,
                called_at: Some(at),
                may_delay: false,
            }],
            ..Testbed::default()
        };
        let mut evidence = Evidence {
            testbed: Some(testbed),
            ..Evidence::default()
        };
        evidence.header.asked.insert(Kind::Timeline, evidence::Asked::Yes);
        let mut findings = Findings::default();
        assert_eq!(Play::of(&evidence, &mut findings).is_some(), addresses <= LARGEST);
        findings.conclude().doubts.len()
    }

    #[test]
    fn a_stage_that_no_run_has_is_not_judged() {
        assert_eq!(doubts(LARGEST), 0);
        assert_eq!(doubts(LARGEST + 1), 1);
    }
}
