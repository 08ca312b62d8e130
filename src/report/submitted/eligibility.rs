//! Checks whether a report can be submitted. It need not be conformant.

use evidence::{Environment, Evidence, Implementation, Kind, Member, Realness};
use jiff::SignedDuration;
use judge::web_page;

use super::document::{Document, Entry};

/// For how many minutes a submitted report has watched, at least.
const FLOOR_MINUTES: i64 = 10;

/// What keeps a report from being submitted, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// It does not say who made the implementation.
    #[error(
        "it does not say who made the implementation: name it under `implementation` in conformance.yaml"
    )]
    NoImplementation,
    /// A part of the implementation says nothing.
    #[error("implementation.{0} is empty: fill it in in conformance.yaml")]
    Empty(&'static str),
    /// The implementation's address leads to no web page.
    #[error("implementation.url is no address of a web page: {0}")]
    Url(String),
    /// The version names no state of the implementation that stays.
    #[error(
        "implementation.version is `{0}`, which means something else each day: name a release or a commit"
    )]
    Moving(String),
    /// There is no contact.
    #[error("implementation.contact is empty: name who answers questions")]
    NoContact,
    /// It does not say who judged the implementation.
    #[error(
        "it does not say who submits it: name the organization under `submittedBy` in conformance.yaml, the implementation's own if the project judged itself"
    )]
    NoSubmitter,
    /// The submitter's address leads to no web page.
    #[error("submittedBy.url is no address of a web page: {0}")]
    SubmitterUrl(String),
    /// It does not say whether a part of the environment was real.
    #[error(
        "environment.{0} is missing: write `real`, or `imitated: ` and what stands in for it, in conformance.yaml"
    )]
    Unsaid(&'static str),
    /// The evidence shows that a part was imitated that the report calls real.
    #[error(
        "it contradicts its evidence: environment.{part} is `real`, and {evidence}: write `imitated: ` and what stands in for it"
    )]
    NotReal {
        /// The part of the environment.
        part: &'static str,
        /// What the evidence shows.
        evidence: String,
    },
    /// The watch was too short, or there was none.
    #[error("it watched for {0}: watch for at least {FLOOR_MINUTES} min")]
    ShortWatch(String),
    /// It judges a test hub of the suite.
    #[error("it judges the suite's own test hub ({0}): run against a real hub")]
    TestHub(String),
    /// A kind of evidence is missing that a submitted report rests on.
    #[error("it lacks evidence: {0}")]
    Lacks(Kind),
    /// The audit log is missing, and nothing says why.
    #[error(
        "it lacks evidence: {}; if the hub has no audit log that can be read, say why under `environment.noAuditLog` in conformance.yaml",
        Kind::Requests
    )]
    NoAuditLog,
    /// The run ended early.
    #[error("the run was cut short: let it end")]
    CutShort,
    /// Rules were not judged, as the user picked others.
    #[error("{0} of the edition's rules were deselected: judge all of them")]
    Deselected(usize),
    /// No evidence was kept.
    #[error("it names no evidence file, so it cannot be verified")]
    NoEvidence,
}

/// Names of branches and tags that move.
const MOVING: [&str; 8] = [
    "main", "master", "trunk", "develop", "dev", "head", "latest", "nightly",
];

/// Lists what keeps a report from being submitted, as far as it tells by itself: [`not_real`] asks its evidence.
pub fn obstacles(document: &Document) -> Vec<Obstacle> {
    let mut obstacles = match &document.implementation {
        None => vec![Obstacle::NoImplementation],
        Some(implementation) => incomplete(implementation),
    };
    obstacles.extend(unsaid(document));
    obstacles.extend(below_the_floor(document));
    let version = document.hub_version.clone().unwrap_or_default();
    if version.ends_with("+lab") {
        obstacles.push(Obstacle::TestHub(version));
    }
    if document.is_partial() {
        obstacles.push(Obstacle::CutShort);
    }
    let deselected = entries(document).filter(|entry| entry.is_deselected()).count();
    if deselected > 0 {
        obstacles.push(Obstacle::Deselected(deselected));
    }
    if document.evidence.is_none() {
        obstacles.push(Obstacle::NoEvidence);
    }
    obstacles
}

fn incomplete(implementation: &Implementation) -> Vec<Obstacle> {
    let Implementation {
        organization,
        project,
        url,
        version,
        contact,
    } = implementation;
    let parts = [
        ("organization", organization),
        ("project", project),
        ("url", url),
        ("version", version),
    ];
    let empty = parts.into_iter().filter(|(_, text)| text.trim().is_empty());
    let mut obstacles: Vec<Obstacle> = empty.map(|(part, _)| Obstacle::Empty(part)).collect();
    if !url.trim().is_empty() && web_page(url).is_none() {
        obstacles.push(Obstacle::Url(url.clone()));
    }
    if is_moving(version) {
        obstacles.push(Obstacle::Moving(version.trim().to_owned()));
    }
    if contact.iter().all(|contact| contact.trim().is_empty()) {
        obstacles.push(Obstacle::NoContact);
    }
    obstacles
}

/// Whether a version is a branch or a tag that moves, such as `main` or `refs/heads/main`.
fn is_moving(version: &str) -> bool {
    let version = version.trim();
    let is_branch = version.starts_with("refs/heads/");
    let name = version.rsplit('/').next().unwrap_or(version);
    is_branch || MOVING.iter().any(|moving| name.eq_ignore_ascii_case(moving))
}

/// Lists the parts of the environment that a report calls real although its evidence shows that they were not.
pub fn not_real(environment: &Environment, evidence: &Evidence) -> Vec<Obstacle> {
    let hub = &evidence.header.hub;
    // What a run calls the hubs that it starts itself; those of users are called by their context.
    let own = ["lab", "envtest", "k3s"].contains(&&*hub.source);
    let is_lab = hub
        .server_version
        .as_deref()
        .is_some_and(|version| version.ends_with("+lab"));
    let is_stand_in = |member: &Member| member.way.starts_with("stand-in ");
    let shown = |part: &str| match part {
        "hub" if is_lab || (own && hub.source != "k3s") => {
            Some(format!("the hub was the suite's own ({})", hub.source))
        }
        "members" if evidence.driver.as_ref().is_some_and(|driver| driver.stand_ins) => {
            Some("the driver joined stand-ins of the suite".to_owned())
        }
        "members" if evidence.members.iter().any(is_stand_in) => {
            Some("stand-ins of the suite answered for members".to_owned())
        }
        "agents" if own => Some("the suite's reference implementation ran, which has none".to_owned()),
        _ => None,
    };
    let parts = environment.parts().into_iter();
    let real = parts.filter(|(_, said)| *said == Some(&Realness::Real));
    real.filter_map(|(part, _)| {
        let evidence = shown(part)?;
        Some(Obstacle::NotReal { part, evidence })
    })
    .collect()
}

/// What it does not say of who judged, and of what was real.
fn unsaid(document: &Document) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    match &document.submitted_by {
        Some(by) if !by.organization.trim().is_empty() => {
            if web_page(&by.url).is_none() {
                obstacles.push(Obstacle::SubmitterUrl(by.url.clone()));
            }
        }
        _ => obstacles.push(Obstacle::NoSubmitter),
    }
    let environment = document.environment.clone().unwrap_or_default();
    let parts = environment.parts().into_iter();
    let missing = parts.filter(|(_, said)| said.is_none());
    obstacles.extend(missing.map(|(part, _)| Obstacle::Unsaid(part)));
    obstacles
}

/// What it lacks of the evidence that a submitted report rests on: `docs/reports.md` has the floor. What no rule of its
/// edition uses it need not have.
fn below_the_floor(document: &Document) -> Vec<Obstacle> {
    let scope = &document.scope;
    let window = scope.window.filter(|_| scope.watched);
    let seconds = window.map(|window| window.seconds());
    let mut obstacles = Vec::new();
    if seconds.unwrap_or_default() < FLOOR_MINUTES * 60 {
        obstacles.push(Obstacle::ShortWatch(match seconds {
            Some(seconds) => format!("{:#}", SignedDuration::from_secs(seconds)),
            None => "no time: it is a single snapshot".to_owned(),
        }));
    }
    let lacks = |kind: Kind| scope.not_asked.contains_key(&kind);
    let kinds = [Kind::Members, Kind::Driver].into_iter();
    obstacles.extend(kinds.filter(|kind| lacks(*kind)).map(Obstacle::Lacks));
    let environment = document.environment.as_ref();
    let excuse = environment.and_then(|environment| environment.no_audit_log.as_deref());
    if lacks(Kind::Requests) && excuse.is_none_or(|why| why.trim().is_empty()) {
        obstacles.push(Obstacle::NoAuditLog);
    }
    obstacles
}

fn entries(document: &Document) -> impl Iterator<Item = &Entry> {
    document.suites.iter().flat_map(|suite| suite.entries())
}
