//! Checks of the hub: whether it answers, who the runner is, which API it serves, and which profiles it has.

use collect::{CollectError, Inventory, Plan, Survey, connect::Connection};
use evidence::{
    Evidence, Origin, Permission, ProfileHistory, Version,
    api::{ClusterProfile, Role},
    redact::without_credentials,
};
use jiff::SignedDuration;
use report::{count, no_status};
use serde_json::{Value, json};

use super::diagnosis::Check;
use crate::command::terminal::exit::Failure;

/// The largest skew of the clocks that is not a warning.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(10);
/// How many managers are named.
const NAMED: usize = 5;
pub const ROLE: &str = "grant it: `clusterprofile-conformance rbac` prints the role";
pub const OTHER_HUB: &str = "remove the cause, or choose another hub with --context";

/// What is known of the hub.
#[derive(Default)]
pub struct HubState {
    pub description: Value,
    pub checks: Vec<Check>,
    /// What a run would request, with the profiles of its first list; `None` if it could not begin.
    pub requested: Option<Evidence>,
    pub permissions: Vec<Permission>,
}

impl HubState {
    /// Checks what the survey of a hub has found.
    pub fn of(connection: &Connection, surveyed: Result<Survey, CollectError>, plan: &Plan) -> Self {
        let server = connection.access().map(|access| &*access.server);
        let server = server.map(|server| without_credentials(server).into_owned());
        let address = server
            .as_ref()
            .map_or_else(String::new, |server| format!(" at {server}"));
        let answers = format!("{}{address} answers", connection.source);
        let survey = match surveyed {
            Ok(survey) => survey,
            Err(error) => {
                let name = match &error {
                    CollectError::Unauthorized { .. } => "hub/user",
                    CollectError::NotServed { .. } | CollectError::VersionNotServed { .. } => "hub/api",
                    _ => "hub/reached",
                };
                let reached = (name != "hub/reached").then(|| Check::ok("hub/reached", &answers));
                let failure = Failure::no_evidence(error, connection);
                let failed = Check::error(name, &failure, OTHER_HUB);
                return Self {
                    description: json!({"source": connection.source, "server": server}),
                    checks: reached.into_iter().chain([failed]).collect(),
                    ..Self::default()
                };
            }
        };
        let mut requested = survey.evidence;
        let hub = &requested.header.hub;
        let inventory = survey.inventory.as_ref().ok();
        let mut description = json!({
            "source": connection.source,
            "server": server,
            "serverVersion": hub.server_version,
            "user": survey.user,
            "apiVersion": hub.api_version,
            "profiles": inventory.map(|inventory| inventory.profiles),
        });
        if let Value::Object(fields) = &mut description {
            fields.retain(|_, value| !value.is_null());
        }
        let version = hub.server_version.as_ref();
        let version = version.map_or_else(String::new, |version| format!(", Kubernetes {version}"));
        let mut checks = vec![
            Check::ok("hub/reached", &(answers + &version)),
            user(survey.user.as_deref()),
            api(&requested),
            clocks(requested.header.clock_skew_ms),
        ];
        match survey.inventory {
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
        requested.profiles = survey.profiles.into_iter().map(listed).collect();
        if let Some(cause) = no_status(&requested) {
            let remedy = "let the manager write the status: most rules need it";
            checks.push(Check::warn("hub/profiles", &cause, remedy));
        }
        Self {
            description,
            checks,
            permissions: requested.header.permissions.clone(),
            requested: Some(requested),
        }
    }
}

fn listed(object: ClusterProfile) -> ProfileHistory {
    ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version { at: None, object }],
        deleted: None,
        deleted_version: None,
    }
}

fn user(name: Option<&str>) -> Check {
    match name {
        Some("system:anonymous") => Check::warn(
            "hub/user",
            "the runner sends no credentials: the hub knows it as system:anonymous",
            "add a user to the kubeconfig's context; `kubectl auth whoami` shows the user",
        ),
        Some(name) => Check::ok("hub/user", &format!("the hub knows the runner as {name}")),
        None => Check::ok("hub/user", "the hub does not report the runner's user name"),
    }
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

fn api(requested: &Evidence) -> Check {
    let hub = &requested.header.hub;
    let version = hub.api_version.as_deref().unwrap_or_default();
    if hub.served.is_empty() {
        let fact = format!("a run reads the profiles in {version}; it may not read their CRD");
        return Check::missing("hub/api", &fact, ROLE);
    }
    let served = Vec::from_iter(hub.served.iter().map(|version| &*version.name));
    let fact = format!("the CRD serves {}; a run reads {version}", served.join(", "));
    Check::ok("hub/api", &fact)
}

/// Counts the profiles. The run publishes the profiles of a consumer.
fn profiles(found: &Inventory, plan: &Plan) -> Option<Check> {
    const CHECK: &str = "hub/profiles";
    if found.profiles == 0 && plan.claim.edition_of(Role::Consumer).is_some() {
        return None;
    }
    let (profiles, namespaces) = (
        count(found.profiles, "profile"),
        count(found.namespaces, "Namespace"),
    );
    let names = found.managers.keys().take(NAMED);
    let names = names.map(|name| if name.is_empty() { "no manager" } else { name });
    let mut names = Vec::from_iter(names).join(", ");
    if found.managers.len() > NAMED {
        names += &format!(" and {} more", found.managers.len() - NAMED);
    }
    let managers = count(found.managers.len(), "manager");
    let mut fact = format!("{profiles} in {namespaces}, of {managers}: {names}");
    if found.profiles == 0 {
        fact = "a run would judge no profile".to_owned();
    }
    if found.left_out > 0 {
        let left_out = count(found.left_out, "profile");
        fact += &format!("; {left_out} of other managers or runs left out");
    }
    if found.unreadable > 0 {
        fact += &format!("; {} cannot be read", count(found.unreadable, "profile"));
    }
    Some(if !found.is_whole {
        fact += "; the hub did not list all of them in time";
        Check::warn(CHECK, &fact, "give a slow hub more time with --request-timeout")
    } else if found.profiles == 0 {
        let remedy = "let the manager publish a profile, or check --cluster-manager and --namespace";
        Check::warn(CHECK, &fact, remedy)
    } else if found.unreadable > 0 {
        Check::warn(
            CHECK,
            &fact,
            "a run lists each with the reason; no rule examines it",
        )
    } else {
        Check::ok(CHECK, &fact)
    })
}
