//! What keeps a report from being submitted, with what to do. It need not be conformant.

use evidence::{Environment, Evidence, Implementation, Kind, Member, Realness};
use jiff::SignedDuration;
use judge::web_page;

use super::document::Document;

/// For how many minutes a submitted report has watched, at least.
const FLOOR_MINUTES: i64 = 10;

/// Names of branches and tags that move.
const MOVING: [&str; 8] = [
    "main", "master", "trunk", "develop", "dev", "head", "latest", "nightly",
];

/// Lists what keeps a report from being submitted, without its evidence: see [`not_real`].
pub fn obstacles(document: &Document) -> Vec<String> {
    let mut obstacles = Vec::new();
    match &document.implementation {
        None => obstacles.push(
            "it does not say who made the implementation: name it under `implementation` in conformance.yaml"
                .to_owned(),
        ),
        Some(implementation) => incomplete(implementation, &mut obstacles),
    }
    match &document.submitted_by {
        Some(by) if !by.organization.trim().is_empty() => {
            if web_page(&by.url).is_none() {
                obstacles.push(format!("submittedBy.url is not an address of a web page: {}", by.url));
            }
        }
        _ => obstacles.push(
            "it does not say who submits it: name the organization under `submittedBy` in conformance.yaml, the \
             implementation's own if the project judged itself"
                .to_owned(),
        ),
    }
    let environment = document.environment.clone().unwrap_or_default();
    for (part, _) in environment.parts().iter().filter(|(_, stated)| stated.is_none()) {
        obstacles.push(format!(
            "environment.{part} is missing: write `real`, or `imitated: ` and what replaces it, in conformance.yaml"
        ));
    }
    missing_evidence(document, &environment, &mut obstacles);
    if let Some(version) = document
        .hub_version
        .as_ref()
        .filter(|version| version.ends_with("+lab"))
    {
        obstacles.push(format!(
            "it judges the suite's own test hub ({version}): run against a real hub"
        ));
    }
    if document.scope.partial.is_some() {
        obstacles.push("the run was cut short: let it end".to_owned());
    }
    let deselected = document.listed().filter(|entry| entry.is_deselected()).count();
    if deselected > 0 {
        obstacles.push(format!(
            "{deselected} of the edition's rules were deselected: judge all of them"
        ));
    }
    if document.evidence.is_none() {
        obstacles.push(
            "it names no evidence file, so it cannot be verified: run again with `--record FILE`".to_owned(),
        );
    }
    obstacles
}

fn incomplete(implementation: &Implementation, obstacles: &mut Vec<String>) {
    let Implementation {
        organization,
        project,
        url,
        version,
        contact,
    } = implementation;
    for (part, text) in [
        ("organization", organization),
        ("project", project),
        ("url", url),
        ("version", version),
    ] {
        if text.trim().is_empty() {
            obstacles.push(format!(
                "implementation.{part} is empty: fill it in in conformance.yaml"
            ));
        }
    }
    if !url.trim().is_empty() && web_page(url).is_none() {
        obstacles.push(format!(
            "implementation.url is not an address of a web page: {url}"
        ));
    }
    if is_moving(version) {
        let version = version.trim();
        obstacles.push(format!(
            "implementation.version is `{version}`, which means something else each day: name a release or a commit"
        ));
    }
    if contact.iter().all(|contact| contact.trim().is_empty()) {
        obstacles.push("implementation.contact is empty: name who answers questions".to_owned());
    }
}

/// Whether a version is a branch or a tag that moves, such as `main` or `refs/heads/main`.
fn is_moving(version: &str) -> bool {
    let version = version.trim();
    let name = version.rsplit('/').next().unwrap_or(version);
    version.starts_with("refs/heads/") || MOVING.iter().any(|moving| name.eq_ignore_ascii_case(moving))
}

/// The evidence that a submitted report needs and lacks: `docs/submit.md` lists it. Evidence that no rule of the edition
/// uses is not needed.
fn missing_evidence(document: &Document, environment: &Environment, obstacles: &mut Vec<String>) {
    let scope = &document.scope;
    let window = scope.window.filter(|_| scope.watched);
    let seconds = window.map(|window| window.seconds());
    if seconds.unwrap_or_default() < FLOOR_MINUTES * 60 {
        let watched = match seconds {
            Some(seconds) => format!("{:#}", SignedDuration::from_secs(seconds)),
            None => "no time: it is a single snapshot".to_owned(),
        };
        obstacles.push(format!(
            "it watched for {watched}: watch for at least {FLOOR_MINUTES} min"
        ));
    }
    let lacks = |kind: &Kind| scope.not_asked.contains_key(kind);
    for kind in [Kind::Members, Kind::Driver].iter().filter(|kind| lacks(kind)) {
        obstacles.push(format!("it lacks evidence: {kind}"));
    }
    let excuse = environment.no_audit_log.as_deref().unwrap_or_default();
    if lacks(&Kind::Requests) && excuse.trim().is_empty() {
        obstacles.push(format!(
            "it lacks evidence: {}; if the hub has no audit log that can be read, say why under `environment.noAuditLog` \
             in conformance.yaml",
            Kind::Requests
        ));
    }
}

/// Lists the parts of the environment that a report calls real although its evidence shows that they were not.
pub(super) fn not_real(environment: &Environment, evidence: &Evidence) -> Vec<String> {
    let hub = &evidence.header.hub;
    // The names of the hubs that a run starts itself; a user's hub is named by its context.
    let is_own = ["lab", "envtest", "k3s"].contains(&&*hub.source);
    let version = hub.server_version.as_deref().unwrap_or_default();
    let is_fake = |member: &Member| member.way.starts_with("stand-in ");
    let contradiction = |part: &str| match part {
        "hub" if version.ends_with("+lab") || (is_own && hub.source != "k3s") => {
            Some(format!("the hub was the suite's own ({})", hub.source))
        }
        "members" if evidence.driver.as_ref().is_some_and(|driver| driver.stand_ins) => {
            Some("the driver joined fake members of the suite".to_owned())
        }
        "members" if evidence.members.iter().any(is_fake) => {
            Some("fake members of the suite answered".to_owned())
        }
        "agents" if is_own => Some("the suite's reference implementation ran, which has none".to_owned()),
        _ => None,
    };
    let parts = environment.parts().into_iter();
    let real = parts.filter(|(_, stated)| *stated == Some(&Realness::Real));
    real.filter_map(|(part, _)| {
        let evidence = contradiction(part)?;
        Some(format!(
            "it contradicts its evidence: environment.{part} is `real`, and {evidence}: write `imitated: ` and what \
             replaces it"
        ))
    })
    .collect()
}
