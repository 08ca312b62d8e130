//! What is wrong with the hub, by its survey.

use collect::{CollectError, Inventory, Survey, connect::Connection};
use evidence::{api::Role, redact::without_credentials};
use jiff::SignedDuration;
use report::count;

use super::{check::Check, document::Hub};
use crate::command::terminal::exit::Failure;

/// The largest skew that goes unmentioned.
const AGREE: SignedDuration = SignedDuration::from_secs(10);
/// How many managers are named.
const NAMED: usize = 5;
/// How the API server calls who shows no credentials.
const ANONYMOUS: &str = "system:anonymous";
/// Where the role for a run comes from.
pub const ROLE: &str = "grant it: `clusterprofile-conformance rbac` prints the role";

/// Notes what is known of the hub.
pub fn describe(connection: &Connection, survey: &Survey) -> Hub {
    let known = &survey.evidence.header.hub;
    Hub {
        source: known.source.clone(),
        server: address(connection),
        server_version: known.server_version.clone(),
        user: survey.user.clone(),
        api_version: known.api_version.clone(),
        profiles: survey.inventory.as_ref().ok().map(|found| found.profiles),
    }
}

/// The address of the API server; none for a hub of the suite's own.
pub fn address(connection: &Connection) -> Option<String> {
    let access = connection.access()?;
    Some(without_credentials(&access.server).into_owned())
}

/// Tells of a hub of which no run could see anything.
pub fn failed(connection: &Connection, error: CollectError) -> Vec<Check> {
    let answers = || Check::ok("hub/reached", &reached(connection, None));
    let (mut checks, name) = match &error {
        CollectError::Unauthorized { .. } => (vec![answers()], "hub/user"),
        CollectError::CrdMissing { .. }
        | CollectError::PlacementsMissing { .. }
        | CollectError::VersionNotServed { .. } => (vec![answers()], "hub/api"),
        _ => (Vec::new(), "hub/reached"),
    };
    checks.push(Check::error(name, &Failure::no_evidence(error, connection)));
    checks
}

/// Tells of a hub that can be judged.
pub fn checks(connection: &Connection, survey: Survey, manager: Option<&str>) -> Vec<Check> {
    let header = &survey.evidence.header;
    let mut checks = vec![
        Check::ok(
            "hub/reached",
            &reached(connection, header.hub.server_version.as_deref()),
        ),
        user(survey.user.as_deref()),
    ];
    let read = header.hub.api_version.as_deref().unwrap_or_default();
    let served: Vec<&str> = header.hub.served.iter().map(|version| &*version.name).collect();
    checks.push(if served.is_empty() {
        let fact = format!(
            "a run reads the profiles in {read}; it may not read their CRD, so it does not know its rules"
        );
        Check::missing("hub/api", &fact, ROLE)
    } else {
        let fact = format!("the CRD serves {}; a run reads {read}", served.join(", "));
        Check::ok("hub/api", &fact)
    });
    checks.push(clocks(header.clock_skew_ms));
    match survey.inventory {
        // A run publishes a consumer's profiles itself.
        Ok(found) if found.profiles == 0 && header.claim.edition_of(Role::Consumer).is_some() => {}
        Ok(found) => checks.extend(inventory(&found, manager)),
        Err(error) => {
            let is_forbidden = matches!(error, CollectError::Forbidden { .. });
            let check = Check::error("hub/profiles", &Failure::no_evidence(error, connection));
            checks.push(if is_forbidden {
                check.with_remedy(ROLE)
            } else {
                check
            });
        }
    }
    checks
}

fn reached(connection: &Connection, version: Option<&str>) -> String {
    let place = address(connection)
        .map(|address| format!(" at {address}"))
        .unwrap_or_default();
    let version = version
        .map(|version| format!(", Kubernetes {version}"))
        .unwrap_or_default();
    format!("{}{place} answers{version}", connection.source)
}

fn user(name: Option<&str>) -> Check {
    match name {
        Some(ANONYMOUS) => Check::warn(
            "hub/user",
            &format!("the hub takes the runner for {ANONYMOUS}: it was shown no credential"),
            "add a user to the kubeconfig's context, and check it with `kubectl auth whoami`",
        ),
        Some(name) => Check::ok("hub/user", &format!("the hub knows the runner as {name}")),
        None => Check::ok("hub/user", "the hub does not say who the runner is"),
    }
}

fn clocks(skew: Option<i64>) -> Check {
    let Some(skew) = skew.map(SignedDuration::from_millis) else {
        return Check::warn(
            "hub/clock",
            "the hub's answers have no date, so its clock is unknown",
            "let proxies in between keep the Date header",
        );
    };
    let seconds = skew.abs().as_secs();
    match skew {
        SignedDuration::ZERO => Check::ok("hub/clock", "the clocks of hub and runner agree"),
        _ if skew.abs() <= AGREE => Check::ok(
            "hub/clock",
            &format!("the clocks of hub and runner differ by {seconds} s"),
        ),
        _ => {
            let way = if skew.is_negative() { "behind" } else { "ahead of" };
            Check::warn(
                "hub/clock",
                &format!(
                    "the hub's clock is {seconds} s {way} the runner's, so ages and graces are less certain"
                ),
                "synchronize both clocks (NTP)",
            )
        }
    }
}

fn inventory(found: &Inventory, manager: Option<&str>) -> Vec<Check> {
    let least = if found.is_whole { "" } else { "at least " };
    let mut fact = format!(
        "{least}{} in {}, of {}",
        count(found.profiles, "profile"),
        count(found.namespaces, "Namespace"),
        managers(found)
    );
    if found.left_out > 0 {
        fact += &format!(
            "; {} of other managers or runs left out",
            count(found.left_out, "profile")
        );
    }
    let mut checks = vec![match (found.profiles, manager) {
        (0, Some(manager)) if found.left_out > 0 => {
            let fact = format!("no ClusterProfile is of the manager `{manager}`; others are");
            Check::warn("hub/profiles", &fact, "check the name of --cluster-manager")
        }
        (0, _) => Check::warn(
            "hub/profiles",
            "there is no ClusterProfile, so every rule would be inconclusive",
            "let the manager publish a profile first, or check --namespace",
        ),
        _ if !found.is_whole => Check::warn(
            "hub/profiles",
            &format!("{fact}: the hub did not list them all in time"),
            "give a slow hub more time with --request-timeout",
        ),
        _ => Check::ok("hub/profiles", &fact),
    }];
    if found.unreadable > 0 {
        checks.push(Check::warn(
            "hub/profiles",
            &format!("{} cannot be read", count(found.unreadable, "profile")),
            "a run names each, and why: no rule examines it",
        ));
    }
    checks
}

fn managers(found: &Inventory) -> String {
    let names: Vec<String> = found
        .managers
        .keys()
        .take(NAMED)
        .map(|name| {
            if name.is_empty() {
                "no manager".to_owned()
            } else {
                name.clone()
            }
        })
        .collect();
    let more = match found.managers.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{}: {}{more}",
        count(found.managers.len(), "manager"),
        names.join(", ")
    )
}
