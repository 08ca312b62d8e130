//! Conditions that change again and again.

use std::collections::BTreeMap;

use super::pairs::{are_shared, pairs};
use crate::{
    shared::{bucket::whole_seconds, writes::status_writes},
    subjects::{Finding, Findings, Profiles},
    text::redacted,
    time::{AtMost, Events, Excess, SECOND},
};

/// More changes than these are flapping (the ledger's 6 in 5 min).
const CALM: AtMost = AtMost {
    count: 6,
    within: 300 * SECOND,
};

/// The reason for no verdict where a condition seems to flap, and may have changed more slowly.
const TOO_CLOSE: &str = "more than 6 changes were seen in about 5 min, but their times are not exact enough to show whether they took longer";

/// `conditions/not-flapping`
///
/// No condition changes its status more often than six times in five minutes.
pub(in crate::rules) fn not_flapping(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile has conditions");
    for history in profiles.histories() {
        if history
            .versions
            .iter()
            .all(|version| version.object.status.conditions.is_empty())
        {
            continue;
        }
        findings.examine();
        if history.versions.len() - 1 <= CALM.count {
            continue;
        }
        let mut changes: BTreeMap<&str, Events> = BTreeMap::new();
        for write in status_writes(evidence, history) {
            let (before, after) = (&write.before.object, &write.after.object);
            if are_shared(before, after) {
                continue;
            }
            for (old, new) in pairs(before, after) {
                if old.status != new.status {
                    changes.entry(&new.kind).or_default().push(write.moment);
                }
            }
        }
        for (kind, moments) in changes {
            let found = match moments.excess(&CALM) {
                Excess::Sure(found) => found,
                Excess::Doubtful => {
                    findings.cannot_tell(TOO_CLOSE);
                    continue;
                }
                Excess::None => continue,
            };
            let seconds = whole_seconds(found.last.reported - found.first.reported);
            findings.report(
                Finding::on(history.last(), "a condition changes its status too often")
                    .at(format!("status.conditions[{}].status", redacted(kind)))
                    .expected("at most 6 changes in 5 min")
                    .observed(format!("{} changes in {seconds} s", found.count)),
            );
        }
    }
}
