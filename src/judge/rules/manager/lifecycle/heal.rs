//! What the profile of a member reports once the member is back.

use evidence::{DriverAction, api::no_longer_told};

use crate::{
    engine::{Answer, Shortfall, Step},
    text::redacted,
};

/// The most fields that a finding lists.
const LISTED: usize = 5;

/// `lifecycle/heal-restores-status`
///
/// Once the member is back, the profile reports again all that it reported before the outage.
pub(in crate::rules) fn heal_restores_status(step: &Step) -> Answer {
    let outage = match step.taken.action {
        DriverAction::Reconnect => DriverAction::Disconnect,
        _ => DriverAction::Break,
    };
    let Some(broken) = step.earlier(outage) else {
        return Answer::NotApplicable;
    };
    let before = match broken.before_surely() {
        Ok(Some(before)) => before,
        Ok(None) => {
            return Answer::Unknown(format!("{} was not there before the outage", broken.profile).into());
        }
        Err(reason) => return Answer::Unknown(reason),
    };
    step.expect(
        |profile| profile.is_some_and(|profile| no_longer_told(before, profile).is_empty()),
        |profile| {
            let lost = profile.map_or_else(Vec::new, |profile| no_longer_told(before, profile));
            Shortfall {
                message: "a member is back, but its profile lacks what it reported before",
                path: redacted(lost.first().map_or("status", String::as_str)),
                expected: "what the profile reported before the outage".to_owned(),
                observed: describe(&lost),
            }
        },
    )
}

fn describe(lost: &[String]) -> String {
    if lost.is_empty() {
        return "no profile".to_owned();
    }
    let listed: Vec<&str> = lost.iter().take(LISTED).map(String::as_str).collect();
    let more = match lost.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    redacted(&format!("no {}{more}", listed.join(", ")))
}
