//! Profiles of members that join.

use evidence::{
    DriverStep, ObjectRef,
    api::{ClusterProfile, Edition, Role, names},
};

use crate::{
    engine::{Answer, Hub, Shortfall, Step, in_the_end, nothing_appeared, within},
    subjects::{Finding, has_status},
    text::{ABSENT, redacted},
};

/// `lifecycle/join-creates-profile`
///
/// After a member joined, there is a profile that the driver recognizes as its own.
pub(in crate::rules) fn join_creates_profile(taken: &DriverStep, hub: &Hub) -> Answer {
    let Some(_) = &taken.profile else {
        return no_profile(taken, hub);
    };
    let step = match Step::of(hub, taken) {
        Ok(step) => step,
        Err(reason) => return Answer::Unknown(reason),
    };
    step.expect(
        |profile| profile.is_some(),
        |_| Shortfall {
            message: NO_PROFILE,
            path: "metadata.name".to_owned(),
            expected: "a profile".to_owned(),
            observed: "none".to_owned(),
        },
    )
}

const NO_PROFILE: &str = "a member that joined has no profile";

/// The driver recognized no profile of the member.
fn no_profile(taken: &DriverStep, hub: &Hub) -> Answer {
    if let Err(reason) = nothing_appeared(hub, taken) {
        return Answer::Unknown(reason);
    }
    let member = ObjectRef {
        kind: names::KIND.to_owned(),
        name: taken.member.clone(),
        ..ObjectRef::default()
    };
    let finding = Finding::on(member, NO_PROFILE).at("metadata.name");
    Answer::broken(
        finding
            .expected(within(taken, "a profile"))
            .observed(in_the_end(taken, "none")),
    )
}

/// `lifecycle/join-fills-status`
///
/// After a member joined, its profile has a version, Joined True, ControlPlaneHealthy and, in edition standard, endpoints.
pub(in crate::rules) fn join_fills_status(step: &Step) -> Answer {
    let edition = step.hub.edition(Role::Manager);
    step.expect(
        |profile| profile.is_some_and(|profile| lacking(profile, edition).is_empty()),
        |profile| {
            let lacks = profile.map_or_else(Vec::new, |profile| lacking(profile, edition));
            let listed: Vec<String> = lacks
                .iter()
                .map(|(path, value)| format!("{path} {value}"))
                .collect();
            let first = lacks.into_iter().next();
            Shortfall {
                message: "the status of a member that joined is incomplete",
                path: first.map_or("status".to_owned(), |(path, _)| path),
                expected: expected(edition).to_owned(),
                observed: if listed.is_empty() {
                    "no profile".to_owned()
                } else {
                    listed.join(", ")
                },
            }
        },
    )
}

fn expected(edition: Edition) -> &'static str {
    match edition {
        Edition::Standard => "version, ControlPlaneHealthy, endpoints, and Joined True",
        _ => "version, ControlPlaneHealthy, and Joined True",
    }
}

/// The fields that a joined member's profile lacks, with the observed values.
fn lacking(profile: &ClusterProfile, edition: Edition) -> Vec<(String, String)> {
    let version = profile.status.version.kubernetes.as_deref().unwrap_or_default();
    let joined = profile
        .condition(names::CONDITION_JOINED)
        .map(|condition| redacted(&condition.status));
    let endpoints = profile.property(names::PROPERTY_ENDPOINTS);
    let has_endpoints = endpoints.is_some_and(|property| !property.value.is_empty());
    let absent = || ABSENT.to_owned();
    let fields = [
        (
            version.is_empty(),
            "status.version.kubernetes".to_owned(),
            absent(),
        ),
        (
            !has_status(profile, names::CONDITION_JOINED, "True"),
            format!("status.conditions[{}].status", names::CONDITION_JOINED),
            joined.unwrap_or_else(absent),
        ),
        (
            profile.condition(names::CONDITION_HEALTHY).is_none(),
            format!("status.conditions[{}]", names::CONDITION_HEALTHY),
            absent(),
        ),
        (
            edition == Edition::Standard && !has_endpoints,
            format!("status.properties[{}]", names::PROPERTY_ENDPOINTS),
            absent(),
        ),
    ];
    let lacking = fields.into_iter().filter(|(is_lacking, _, _)| *is_lacking);
    lacking.map(|(_, path, value)| (path, value)).collect()
}
