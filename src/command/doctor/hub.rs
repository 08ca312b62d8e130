//! Checks of the hub: whether it answers, who the runner is, which API it serves, and which profiles it has.

use collect::{CollectError, Inventory, Plan, Survey, connect::Connection};
use evidence::{api::Role, redact::without_credentials};
use jiff::SignedDuration;
use report::count;
use serde_json::{Value, json};

use super::diagnosis::Check;
use crate::command::terminal::exit::Failure;

/// The largest skew of the clocks that is not a warning.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(10);
/// How many managers are named.
const NAMED: usize = 5;
/// The API server's user name for requests without credentials.
const ANONYMOUS: &str = "system:anonymous";
pub const ROLE: &str = "grant it: `clusterprofile-conformance rbac` prints the role";
pub const OTHER_HUB: &str = "remove the cause, or choose another hub with --context";

/// What is known of the hub.
pub fn describe(connection: &Connection, survey: Option<&Survey>) -> Value {
    let header = survey.map(|survey| &survey.evidence.header.hub);
    let inventory = survey.and_then(|survey| survey.inventory.as_ref().ok());
    let mut hub = json!({
        "source": connection.source,
        "server": server(connection),
        "serverVersion": header.and_then(|header| header.server_version.as_ref()),
        "user": survey.and_then(|survey| survey.user.as_ref()),
        "apiVersion": header.and_then(|header| header.api_version.as_ref()),
        "profiles": inventory.map(|inventory| inventory.profiles),
    });
    if let Value::Object(hub) = &mut hub {
        hub.retain(|_, value| !value.is_null());
    }
    hub
}

/// The address of the API server. A test hub of the suite has none.
fn server(connection: &Connection) -> Option<String> {
    let access = connection.access()?;
    Some(without_credentials(&access.server).into_owned())
}

/// Checks a hub of which a run could not read anything.
pub fn failed(connection: &Connection, error: CollectError) -> Vec<Check> {
    let name = match &error {
        CollectError::Unauthorized { .. } => "hub/user",
        CollectError::NotServed { .. } | CollectError::VersionNotServed { .. } => "hub/api",
        _ => "hub/reached",
    };
    let mut checks = Vec::new();
    if name != "hub/reached" {
        checks.push(answers(connection, None));
    }
    checks.push(Check::error(
        name,
        &Failure::no_evidence(error, connection),
        OTHER_HUB,
    ));
    checks
}

/// Checks a hub that answers.
pub fn checks(
    connection: &Connection,
    survey: &Survey,
    inventory: Result<Inventory, CollectError>,
    plan: &Plan,
) -> Vec<Check> {
    let header = &survey.evidence.header;
    let mut checks = vec![
        answers(connection, header.hub.server_version.as_deref()),
        user(survey.user.as_deref()),
        api(survey),
        clocks(header.clock_skew_ms),
    ];
    match inventory {
        Ok(found) => checks.extend(profiles(&found, plan)),
        Err(error) => {
            let remedy = match error {
                CollectError::Forbidden { .. } => ROLE,
                _ => OTHER_HUB,
            };
            let failure = Failure::no_evidence(error, connection);
            checks.push(Check::error("hub/profiles", &failure, remedy));
        }
    }
    checks
}

fn answers(connection: &Connection, version: Option<&str>) -> Check {
    let address = server(connection).map_or_else(String::new, |address| format!(" at {address}"));
    let version = version.map_or_else(String::new, |version| format!(", Kubernetes {version}"));
    Check::ok(
        "hub/reached",
        &format!("{}{address} answers{version}", connection.source),
    )
}

fn user(name: Option<&str>) -> Check {
    match name {
        Some(ANONYMOUS) => Check::warn(
            "hub/user",
            &format!("the runner sends no credentials; the hub knows it as {ANONYMOUS}"),
            "add a user to the kubeconfig's context, and check it with `kubectl auth whoami`",
        ),
        Some(name) => Check::ok("hub/user", &format!("the hub knows the runner as {name}")),
        None => Check::ok("hub/user", "the hub does not report the runner's user name"),
    }
}

fn api(survey: &Survey) -> Check {
    let hub = &survey.evidence.header.hub;
    let version = hub.api_version.as_deref().unwrap_or_default();
    let served: Vec<&str> = hub.served.iter().map(|version| &*version.name).collect();
    if served.is_empty() {
        let fact = format!("a run reads the profiles in {version}; it may not read their CRD");
        return Check::missing("hub/api", &fact, ROLE);
    }
    let fact = format!("the CRD serves {}; a run reads {version}", served.join(", "));
    Check::ok("hub/api", &fact)
}

fn clocks(skew: Option<i64>) -> Check {
    let Some(skew) = skew.map(|skew| SignedDuration::from_millis(skew).abs()) else {
        return Check::warn(
            "hub/clock",
            "the hub's responses have no Date header, so its clock is unknown",
            "let proxies in between keep the Date header",
        );
    };
    let fact = format!("the clocks of hub and runner differ by {} s", skew.as_secs());
    if skew > MAX_SKEW {
        return Check::warn("hub/clock", &fact, "synchronize both clocks (NTP)");
    }
    Check::ok("hub/clock", &fact)
}

fn profiles(found: &Inventory, plan: &Plan) -> Vec<Check> {
    const CHECK: &str = "hub/profiles";
    let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
    if found.profiles == 0 {
        // The run publishes the profiles of a consumer.
        if is_consumer {
            return Vec::new();
        }
        let left_out = found.left_out + found.unreadable;
        let (fact, remedy) = if !found.is_whole {
            let fact = "the hub did not list a ClusterProfile in time".to_owned();
            (fact, "give a slow hub more time with --request-timeout")
        } else if left_out > 0 {
            let left_out = count(left_out, "profile");
            let fact =
                format!("no ClusterProfile would be judged: {left_out} cannot be read, or belong to others");
            (fact, "check --cluster-manager and --namespace")
        } else {
            let fact = "there is no ClusterProfile yet; a run waits for the first one".to_owned();
            (fact, "let the manager publish a profile")
        };
        return vec![Check::warn(CHECK, &fact, remedy)];
    }
    let least = if found.is_whole { "" } else { "at least " };
    let mut fact = format!(
        "{least}{} in {}, of {}",
        count(found.profiles, "profile"),
        count(found.namespaces, "Namespace"),
        managers(found)
    );
    if found.left_out > 0 {
        let left_out = count(found.left_out, "profile");
        fact += &format!("; {left_out} of other managers or runs left out");
    }
    let mut checks = vec![if found.is_whole {
        Check::ok(CHECK, &fact)
    } else {
        fact += ": the hub did not list all of them in time";
        Check::warn(CHECK, &fact, "give a slow hub more time with --request-timeout")
    }];
    if found.unreadable > 0 {
        let fact = format!("{} cannot be read", count(found.unreadable, "profile"));
        checks.push(Check::warn(
            CHECK,
            &fact,
            "a run lists each with the reason; no rule examines it",
        ));
    }
    checks
}

fn managers(found: &Inventory) -> String {
    let mut names: Vec<&str> = found.managers.keys().take(NAMED).map(String::as_str).collect();
    for name in &mut names {
        if name.is_empty() {
            *name = "no manager";
        }
    }
    let more = match found.managers.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let managers = count(found.managers.len(), "manager");
    format!("{managers}: {}{more}", names.join(", "))
}
