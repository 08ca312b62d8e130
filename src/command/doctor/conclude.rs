//! From what was found to the diagnosis.

use collect::clock::Clock;
use evidence::{
    Asked, Evidence, Kind,
    api::{Edition, Role},
};
use judge::Selection;

use super::{
    audit_log, check::Check, document::Diagnosis, driver, examine::Examined, gain, kinds, members, writers,
};
use crate::command::flags::driver::Driving;

/// What a run sees of a consumer.
const OF_STAGE: [Kind; 5] = [
    Kind::Testbed,
    Kind::MemberCalls,
    Kind::PluginCalls,
    Kind::Mentions,
    Kind::Outputs,
];

/// Puts together what was found.
pub fn conclude(
    examined: Examined,
    edition: Edition,
    source: String,
    selection: &Selection,
    driving: Option<&Driving>,
    flaws: Vec<Check>,
) -> Diagnosis {
    let Examined {
        plan,
        mut hub,
        mut checks,
        evidence,
        profiles,
        reached,
        sample,
        own_log,
    } = examined;
    if hub.source.is_empty() {
        hub.source = source;
    }
    let mut asked = evidence.clone().unwrap_or_else(|| {
        let mut asked = Evidence::default();
        asked.header.asked = plan.asked();
        asked
    });
    // A run plans its driver or its testbed, and reads its audit log, later. A test hub's consumer needs no file.
    let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
    let planned: &[Kind] = match (is_consumer, driving) {
        (true, Some(_)) => &OF_STAGE,
        (true, None) if own_log => &OF_STAGE,
        (false, Some(_)) => &[Kind::Driver],
        (_, None) => &[],
    };
    for kind in planned {
        asked.header.asked.insert(*kind, Asked::Yes);
    }
    if own_log {
        asked.header.asked.insert(Kind::Requests, Asked::Yes);
    }
    let mut gains = kinds::Gains::new(&asked, selection, evidence.is_some());
    let now = Clock::system().now();
    if evidence.is_some() {
        checks.extend(kinds::of_hub(&mut gains, &plan));
    }
    checks.extend(writers::of_writers(&plan, profiles, &sample));
    let of_files = [
        (
            "evidence/members",
            members::of_members(&mut gains, &plan, &reached),
        ),
        (
            "evidence/plugins",
            members::of_plugins(&mut gains, &plan).into_iter().collect(),
        ),
        (
            "evidence/audit-log",
            audit_log::of_audit_log(&mut gains, own_log, sample, now),
        ),
        ("evidence/driver", driver::of_driver(&mut gains, driving)),
    ];
    for (name, found) in of_files {
        // A file that is no use was told of by its error.
        if !flaws.iter().any(|flaw| flaw.check == name) {
            checks.extend(found);
        }
    }
    let gains = gains.found;
    checks.extend(flaws);
    let rules = evidence.is_some().then(|| gain::rules(&asked, selection));
    checks.extend(rules.map(|rules| counted(rules, edition, is_consumer)));
    let order = ["hub", "evidence", "files", "rules"];
    checks.sort_by_key(|check| order.iter().position(|group| *group == check.group()));
    Diagnosis::new(edition, hub, checks, rules, gains)
}

/// Tells how many rules a run can judge. What a consumer claims says which of them are asked of it.
fn counted(rules: gain::Rules, edition: Edition, by_claim: bool) -> Check {
    let gain::Rules { selected, judged } = rules;
    let limit = if by_claim {
        ", as far as the consumer claims what they ask"
    } else {
        ""
    };
    let fact = format!(
        "a run can judge {} of {} MUST, {} of {} SHOULD and {} of {} MAY rules of edition {edition}{limit}",
        judged.must, selected.must, judged.should, selected.should, judged.may, selected.may
    );
    if judged.must == 0 && selected.must > 0 {
        return Check::warn("rules/judged", &fact, "add the evidence that is named above");
    }
    Check::ok("rules/judged", &fact)
}
