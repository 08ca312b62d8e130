//! What keeps a report from being submitted, with what to do. It need not be conformant.

use evidence::{Environment, Evidence, Kind, Member, Realness};
use jiff::SignedDuration;
use judge::web_page;

use super::document::ConformanceReport;

/// For how many minutes a submitted report has watched, at least.
const FLOOR_MINUTES: i64 = 10;

/// Names of branches and tags that move.
const MOVING: [&str; 8] = [
    "main", "master", "trunk", "develop", "dev", "head", "latest", "nightly",
];

/// Lists what keeps a report from being submitted, without its evidence: see [`not_real`].
pub(super) fn obstacles(document: &ConformanceReport) -> Vec<String> {
    let environment = document.about.environment.clone().unwrap_or_default();
    let mut obstacles = incomplete(document);
    for (part, _) in environment.parts().iter().filter(|(_, stated)| stated.is_none()) {
        obstacles.push(format!(
            "environment.{part} is missing: write `real`, or `imitated: ` and what replaces it, in conformance.yaml"
        ));
    }
    obstacles.extend(missing_evidence(document, &environment));
    let version = document.hub_version.iter();
    for version in version.filter(|version| version.ends_with("+lab")) {
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

/// What is missing or useless of the implementation and the submitter.
fn incomplete(document: &ConformanceReport) -> Vec<String> {
    let mut obstacles = Vec::new();
    if let Some(implementation) = &document.about.implementation {
        let fields = [
            ("implementation.organization", &*implementation.organization),
            ("implementation.project", &implementation.project),
            ("implementation.url", &implementation.url),
            ("implementation.version", &implementation.version),
            ("implementation.contact", &implementation.contact.concat()),
        ];
        obstacles.extend(fields.into_iter().filter_map(unusable));
        let version = implementation.version.trim();
        if is_moving(version) {
            obstacles.push(format!(
                "implementation.version is `{version}`, which means something else each day: name a release or a commit"
            ));
        }
    } else {
        obstacles.push("implementation is missing: say in conformance.yaml who made it".to_owned());
    }
    if let Some(submitter) = &document.about.submitted_by {
        let fields = [
            ("submittedBy.organization", &*submitter.organization),
            ("submittedBy.url", &submitter.url),
        ];
        obstacles.extend(fields.into_iter().filter_map(unusable));
    } else {
        obstacles.push(
            "submittedBy is missing: name the organization in conformance.yaml, the implementation's own if the project \
             judged itself"
                .to_owned(),
        );
    }
    obstacles
}

/// What is wrong with a field that everyone fills in.
fn unusable((key, value): (&str, &str)) -> Option<String> {
    if value.trim().is_empty() {
        Some(format!("{key} is empty: fill it in in conformance.yaml"))
    } else if key.ends_with(".url") && web_page(value).is_none() {
        Some(format!("{key} is not an address of a web page: {value}"))
    } else {
        None
    }
}

/// Readers look for a report in the folder that has the name of the version.
pub(super) fn misnamed(folder: &str, document: &ConformanceReport) -> Option<String> {
    let version = document.about.implementation.as_ref()?.version.trim();
    let folder = folder.rsplit('/').next()?;
    let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
    (!version.is_empty() && bare(version) != bare(folder)).then(|| {
        format!(
            "the folder is named {folder}, and the report is of version {version}: give both the same name"
        )
    })
}

/// Whether a version is a branch or a tag that moves, for example `main` or `refs/heads/main`.
fn is_moving(version: &str) -> bool {
    let name = version.rsplit('/').next().unwrap_or(version);
    version.starts_with("refs/heads/") || MOVING.iter().any(|moving| name.eq_ignore_ascii_case(moving))
}

/// The evidence that a submitted report needs and lacks: `docs/submit.md` lists it. Evidence that no rule of the edition
/// uses is not needed.
fn missing_evidence(document: &ConformanceReport, environment: &Environment) -> Vec<String> {
    let scope = &document.scope;
    let mut obstacles = Vec::new();
    match scope.window.filter(|_| scope.watched) {
        None => obstacles.push(format!(
            "it is a single snapshot: watch for at least {FLOOR_MINUTES} min"
        )),
        Some(window) if window.seconds() < FLOOR_MINUTES * 60 => obstacles.push(format!(
            "it watched for {:#}: watch for at least {FLOOR_MINUTES} min",
            SignedDuration::from_secs(window.seconds())
        )),
        Some(_) => {}
    }
    for kind in [Kind::Members, Kind::Driver] {
        if scope.not_asked.contains_key(&kind) {
            obstacles.push(format!("it lacks evidence: {kind}"));
        }
    }
    let excuse = environment.no_audit_log.as_deref().unwrap_or_default();
    if scope.not_asked.contains_key(&Kind::Requests) && excuse.trim().is_empty() {
        obstacles.push(format!(
            "it lacks evidence: {}; if the hub has no audit log that can be read, say why under `environment.noAuditLog` \
             in conformance.yaml",
            Kind::Requests
        ));
    }
    obstacles
}

/// Lists the parts of the environment that a report calls real although its evidence shows that they were not.
pub(super) fn not_real(environment: &Environment, evidence: &Evidence) -> Vec<String> {
    // The names of the hubs that a run starts itself; a user's hub is named by its context.
    let source = &*evidence.header.hub.source;
    let is_own = ["lab", "envtest", "k3s"].contains(&source);
    let is_fake = |member: &Member| member.access.starts_with("stand-in ");
    let joined_fakes = evidence.driver.as_ref().is_some_and(|driver| driver.fake_members);
    let mut contradictions = Vec::new();
    if is_own && source != "k3s" {
        contradictions.push(("hub", "the hub was the suite's own"));
    }
    if joined_fakes || evidence.members.iter().any(is_fake) {
        contradictions.push(("members", "they were fake members of the suite"));
    }
    if is_own {
        contradictions.push((
            "agents",
            "the suite's reference implementation ran, which has none",
        ));
    }
    let parts = environment.parts();
    contradictions.retain(|(part, _)| parts.contains(&(*part, Some(&Realness::Real))));
    let texts = contradictions.into_iter().map(|(part, contradiction)| {
        format!(
            "it contradicts its evidence: environment.{part} is `real`, and {contradiction}: write `imitated: ` and what \
             replaces it"
        )
    });
    texts.collect()
}
