//! What a consumer writes on the hub, and what it does with the credentials of members.

use evidence::{CallEvent, MemberCall, MemberCredential, MentionLocation, PluginAnswer, Published};

use crate::{
    engine::{
        change::changed_fields,
        consumer::{ConsumerRun, micros},
        object_named,
    },
    rules::prelude::*,
};

const FINALIZERS: &str = "metadata.finalizers";
const VERSION: &str = "metadata.resourceVersion";

/// The reason for requests on a whole collection.
const COLLECTION: &str =
    "the consumer sent a request on a whole collection, which may have selected other objects";

/// `consumer-hub/status-not-written`
pub(in crate::rules) fn status_not_written(_: &ConsumerRun, writes: &[&Request]) -> Answer {
    let writes = writes.iter().copied();
    let of_status = writes.filter(|request| &*request.subresource == "status");
    broken_by(&Vec::from_iter(of_status), "status")
}

/// `consumer-hub/profile-not-written`
///
/// The consumer changes nothing but the display name and finalizers, and creates or deletes no profile.
pub(in crate::rules) fn profile_not_written(run: &ConsumerRun, writes: &[&Request]) -> Answer {
    let (mut wrong, mut unknown) = (Vec::new(), Answer::Kept);
    let writes = writes.iter().copied();
    for request in writes.filter(|request| request.subresource.is_empty()) {
        match changes_more_than_allowed(run, request) {
            Ok(true) => wrong.push(request),
            Ok(false) => {}
            Err(reason) => unknown = Answer::Unknown(reason),
        }
    }
    broken_by(&wrong, VERSION).and(unknown)
}

/// `consumer-placement/read-only-and-feedback-elsewhere`
pub(in crate::rules) fn read_only_and_feedback_elsewhere(_: &ConsumerRun, writes: &[&Request]) -> Answer {
    let mut names = writes.iter().map(|request| request.namespace_and_name().1);
    if names.any(str::is_empty) {
        return Answer::Unknown(COLLECTION.into());
    }
    broken_by(writes, VERSION)
}

/// `consumer-hub/deletion-not-blocked`
///
/// After the consumer was uninstalled, no finalizer that it set holds a deleted profile. While it runs, it may take as long as it
/// takes to follow a change.
pub(in crate::rules) fn deletion_not_blocked(run: &ConsumerRun) -> Vec<Answer> {
    let answer = |deletion| judge_deletion(run, &deletion).unwrap_or_else(Answer::Unknown);
    deletions(run).into_iter().map(answer).collect()
}

fn judge_deletion(run: &ConsumerRun, deletion: &Deletion) -> Result<Answer, Reason> {
    if deletion.finalizers.is_empty() {
        return Ok(Answer::Kept);
    }
    let setters = finalizer_writes(run, deletion)?;
    if setters.is_empty() {
        return Ok(Answer::NotApplicable);
    }
    let settle = run.settle.clone()?;
    let mut uninstalls = run.hooks(DriverAction::Uninstall);
    if let Some(failure) = uninstalls.find_map(|call| call.failure.as_deref()) {
        return Err(format!("the hook `uninstall` failed: {}", redacted(failure)).into());
    }
    // A stopped consumer begins after its start, and an uninstalled one has ended.
    let uninstalls = run.hooks(DriverAction::Uninstall).map(|call| micros(call.until));
    let uninstalled = uninstalls.rev().find(|until| deletion.gone > *until);
    let pause = run.pauses().find(|pause| pause.contains(&deletion.at));
    let since = match uninstalled {
        Some(uninstalled) => uninstalled.max(deletion.at),
        None => pause.map_or(deletion.at, |pause| *pause.end()),
    };
    let limit = since.saturating_add(settle);
    let expectations = run.testbed.expectations.iter();
    let observed = expectations.map(|expectation| micros(expectation.until)).max();
    if deletion.gone == Micros::MAX && observed.is_none_or(|observed| observed < limit) {
        return Err("the run ended before the deadline for the deletion of the profile".into());
    }
    if deletion.gone <= limit {
        let has_hook = run.testbed.hooks.contains(&DriverAction::Uninstall);
        let reason = "profiles had finalizers, and the consumer has no hook `uninstall`";
        return has_hook.then_some(Answer::Kept).ok_or(reason.into());
    }
    let message = match uninstalled {
        Some(_) => "the consumer's finalizer blocks a deletion after the consumer was uninstalled",
        None => "the consumer's finalizer blocks a deletion for too long",
    };
    let finding = Finding::on(run.profile_ref(deletion.object), message)
        .at(FINALIZERS)
        .expected("no finalizer of the consumer")
        .observed(describe_writes(&setters));
    Ok(Answer::all([finding.advisory_unless(uninstalled.is_some())]))
}

/// A deletion of a published profile.
struct Deletion<'e> {
    object: &'e ObjectKey,
    at: Micros,
    /// When it no longer existed; the end of time if it still did.
    gone: Micros,
    finalizers: &'e [String],
}

fn deletions<'e>(run: &ConsumerRun<'e>) -> Vec<Deletion<'e>> {
    let mut deletions: Vec<Deletion> = Vec::new();
    for publication in &run.testbed.published {
        let (object, at) = (&publication.object, micros(publication.answered));
        let mut open = deletions.iter_mut();
        let open = open.rfind(|deletion| deletion.object == object && deletion.gone == Micros::MAX);
        let (gone, finalizers) = match &publication.state {
            Published::Terminating { finalizers } => (Micros::MAX, &finalizers[..]),
            Published::Deleted {} => (at, &[][..]),
            Published::Profile(_) | Published::Slice(_) => continue,
        };
        match open {
            Some(open) => open.gone = gone,
            None => deletions.push(Deletion {
                object,
                at,
                gone,
                finalizers,
            }),
        }
    }
    deletions
}

/// The writes with which the consumer set finalizers; none if it did not.
fn finalizer_writes<'e>(run: &ConsumerRun<'e>, deletion: &Deletion) -> Result<Vec<&'e Request>, Reason> {
    let names: Vec<String> = deletion.finalizers.iter().map(|name| redacted(name)).collect();
    let names = names.join(", ");
    let log = run.evidence.requests.as_ref();
    let log = log.filter(|_| !run.consumer().user.is_empty());
    let log = log.ok_or_else(|| {
        format!("finalizers blocked a deletion ({names}): configure the consumer's user and the audit log")
    })?;
    if !run.log_covers(log, deletion.object) {
        return Err("the audit log begins after the profile was published".into());
    }
    let object = (&*deletion.object.namespace, &*deletion.object.name);
    let setters = log.events.iter().filter(|request| {
        let mut parts = request.body.iter().flat_map(|body| &body.parts);
        matches!(&*request.verb, "create" | "update" | "patch")
            && request.is_write()
            && request.namespace_and_name() == object
            && request.subresource.is_empty()
            && !request.is_the_suites()
            && parts.any(|part| part == FINALIZERS)
    });
    let (own, others): (Vec<&Request>, Vec<&Request>) = setters.partition(|request| run.sent(request));
    if !own.is_empty() && !others.is_empty() {
        let reason = "another client also sets finalizers; cannot attribute the remaining one";
        return Err(format!("{reason}: {names}").into());
    }
    Ok(own)
}

/// Whether a write changed more than the display name and finalizers; the reason if the evidence does not show it.
fn changes_more_than_allowed(run: &ConsumerRun, request: &Request) -> Result<bool, Reason> {
    if matches!(&*request.verb, "create" | "delete") {
        return Ok(true);
    }
    if request.namespace_and_name().1.is_empty() {
        return Err(COLLECTION.into());
    }
    if let Some((before, after)) = versions_around(run, request) {
        let is_own = |field: &String| field != "spec.displayName";
        return Ok(changed_fields(before, after).iter().any(is_own));
    }
    let parts = request.body.as_ref().map(|body| &body.parts);
    let parts = parts.filter(|parts| &*request.verb == "patch" && parts.iter().all(|part| part != "spec"));
    let parts = parts.ok_or(
        "the audit log does not show what a write of the consumer changed: log it at level RequestResponse",
    )?;
    let not_allowed = [
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences",
    ];
    Ok(parts.iter().any(|part| not_allowed.contains(&&**part)))
}

/// The versions before and after a write, by the resourceVersion in its response.
fn versions_around<'e>(
    run: &ConsumerRun<'e>,
    request: &Request,
) -> Option<(&'e ClusterProfile, &'e ClusterProfile)> {
    let written = number(request.resource_version.as_deref()?)?;
    let (namespace, name) = request.namespace_and_name();
    let published = run.testbed.published.iter();
    let published = published.filter_map(|publication| match &publication.state {
        Published::Profile(profile) => Some(&**profile),
        _ => None,
    });
    let watched = run.evidence.profiles.iter().flat_map(|history| &history.versions);
    let versions = published.chain(watched.map(|version| &version.object));
    let versions = versions
        .filter(|profile| *profile.metadata.namespace == *namespace && *profile.metadata.name == *name);
    let versions: Vec<(u64, &ClusterProfile)> = versions
        .filter_map(|profile| Some((number(&profile.metadata.resource_version)?, profile)))
        .collect();
    let after = versions.iter().find(|(version, _)| *version == written)?;
    let earlier = versions.iter().filter(|(version, _)| *version < written);
    let before = earlier.max_by_key(|(version, _)| *version)?;
    Some((before.1, after.1))
}

fn number(resource_version: &str) -> Option<u64> {
    resource_version.parse().ok()
}

fn broken_by(writes: &[&Request], path: &str) -> Answer {
    Answer::broken_if(!writes.is_empty(), || {
        Finding::at_field(path, describe_writes(writes))
    })
}

/// Describes requests; empty if there are none.
fn describe_writes(requests: &[&Request]) -> String {
    let Some(first) = requests.first() else {
        return String::new();
    };
    let verbs: BTreeSet<&str> = requests.iter().map(|request| &*request.verb).collect();
    let verbs = Vec::from_iter(verbs).join(", ");
    let (count, user) = (counted(requests.len(), "write"), redacted(&first.user));
    format!("{count} ({verbs}) by {user}, first at {}", first.at)
}

/// The most places of one credential that a finding lists.
const LISTED: usize = 3;

/// `consumer-secrets/credential-to-its-member-only`
///
/// With fewer than two members, no credential can go to another one.
pub(in crate::rules) fn credential_to_its_member_only(run: &ConsumerRun) -> Vec<Answer> {
    let mut members = BTreeSet::new();
    let mut misused: BTreeMap<(&str, &str), &MemberCall> = BTreeMap::new();
    for call in run.member_calls() {
        let CallEvent::Request {
            credential: MemberCredential::Of { member, .. },
            ..
        } = &call.what
        else {
            continue;
        };
        if *member == call.member {
            members.insert(member);
        } else if !is_own_address(run, call, member) {
            misused.entry((member, &call.member)).or_insert(call);
        }
    }
    if misused.is_empty() && members.len() < 2 {
        let reason = "the consumer called fewer than two members with their credentials";
        return vec![Answer::Unknown(reason.into())];
    }
    let misused = misused.into_iter();
    let findings = misused.map(|((member, _), call)| sent_elsewhere(run, member, call));
    vec![Answer::all(findings)]
}

fn is_own_address(run: &ConsumerRun, call: &MemberCall, member: &str) -> bool {
    let mut addresses = run.testbed.addresses.iter();
    call.member.is_empty() && addresses.any(|address| address.url == call.url && address.member == *member)
}

fn sent_elsewhere(run: &ConsumerRun, member: &str, call: &MemberCall) -> Finding {
    let (url, at) = (redacted(&call.url), call.at);
    let observed = format!("a request to {url} with this credential at {at}");
    let finding = Finding::at_field_of(profile_of(run, member), "status.accessProviders", observed);
    finding.expected(format!(
        "the credential of {} only for its member",
        redacted(member)
    ))
}

/// `consumer-secrets/nothing-secret-in-the-open`
pub(in crate::rules) fn nothing_secret_in_the_open(run: &ConsumerRun) -> Vec<Answer> {
    let issued = run.plugin_runs().filter_map(|call| match &call.answer {
        PluginAnswer::Credential { member, .. } => Some(&**member),
        _ => None,
    });
    let mut places: BTreeMap<&str, Vec<String>> = issued.map(|member| (member, Vec::new())).collect();
    for mention in run.evidence.mentions.iter().flat_map(|mentions| &mentions.found) {
        for member in &mention.credentials {
            places.entry(member).or_default().push(describe(&mention.place));
        }
    }
    let answer = |(member, mut places): (&str, Vec<String>)| {
        Answer::broken_if(!places.is_empty(), || {
            places.truncate(LISTED);
            Finding::at_field_of(
                profile_of(run, member),
                "status.accessProviders",
                places.join(", "),
            )
        })
    };
    places.into_iter().map(answer).collect()
}

fn profile_of(run: &ConsumerRun, member: &str) -> ObjectRef {
    let mut expectations = run.testbed.expectations.iter();
    match expectations.find(|expectation| expectation.member == *member) {
        Some(expectation) => run.profile_ref(&expectation.profile),
        None => object_named(KIND, ("", member)),
    }
}

fn describe(place: &MentionLocation) -> String {
    match place {
        MentionLocation::Line { number } => format!("line {number} of the consumer's log"),
        MentionLocation::Event {
            namespace, reason, ..
        } => format!("an Event {} of {}", redacted(reason), redacted(namespace)),
        MentionLocation::Object {
            kind,
            namespace,
            name,
        } => format!("{} {}/{}", redacted(kind), redacted(namespace), redacted(name)),
    }
}
