//! What a consumer writes on the hub, and what it does with the credentials of members.

use evidence::{
    CallEvent, MemberCall, MemberCredential, MentionLocation, PluginAnswer, Publication, Published,
};

use crate::{
    engine::{
        change::changed_fields,
        consumer::{ConsumerRun, describe_writes, micros},
        object_named,
    },
    rules::prelude::*,
};

const FINALIZERS: &str = "metadata.finalizers";

/// The reason for requests on a whole collection.
const COLLECTION: &str =
    "the consumer sent a request on a whole collection, which may have selected other objects";

/// `consumer-hub/status-not-written`
pub(in crate::rules) fn status_not_written(_: &ConsumerRun, write: &Request) -> Result<bool, Reason> {
    Ok(&*write.subresource == "status")
}

/// `consumer-placement/read-only-and-feedback-elsewhere`
pub(in crate::rules) fn read_only_and_feedback_elsewhere(
    _: &ConsumerRun,
    write: &Request,
) -> Result<bool, Reason> {
    let is_collection = write.namespace_and_name().1.is_empty();
    if is_collection {
        Err(COLLECTION.into())
    } else {
        Ok(true)
    }
}

/// `consumer-hub/deletion-not-blocked`
///
/// After the consumer was uninstalled, no finalizer that it set holds a deleted profile. While it runs, it may take as long as it
/// takes to follow a change.
pub(in crate::rules) fn deletion_not_blocked(run: &ConsumerRun) -> Vec<Answer> {
    let published = &run.testbed.published;
    let deletions = published.iter().enumerate().filter_map(|(place, publication)| {
        let is_same = |earlier: &&Publication| earlier.object == publication.object;
        match (&publication.state, published[..place].iter().rfind(is_same)) {
            // A deletion is judged once.
            (_, Some(previous)) if is_terminating(previous) => None,
            (Published::Deleted {}, _) => Some(Answer::Kept),
            (Published::Terminating { finalizers }, _) => {
                let mut later = published[place + 1..].iter().filter(is_same);
                let deleted = later.find(|later| matches!(later.state, Published::Deleted {}));
                let deleted = deleted.map_or(Micros::MAX, |deleted| micros(deleted.answered));
                let answer = judge_deletion(run, publication, finalizers, deleted);
                Some(answer.unwrap_or_else(Answer::Unknown))
            }
            _ => None,
        }
    });
    deletions.collect()
}

fn is_terminating(publication: &Publication) -> bool {
    matches!(publication.state, Published::Terminating { .. })
}

/// Judges a deletion that finalizers held until a moment; until the end of time if they still hold it.
fn judge_deletion(
    run: &ConsumerRun,
    deletion: &Publication,
    finalizers: &[String],
    deleted_at: Micros,
) -> Result<Answer, Reason> {
    let names: Vec<String> = finalizers.iter().map(|name| redacted(name)).collect();
    let setters = finalizer_writes(run, &deletion.object);
    let setters = setters.map_err(|reason| format!("{reason}: {}", names.join(", ")))?;
    if setters.is_empty() {
        return Ok(Answer::NotApplicable);
    }
    let settle = run.settle.clone()?;
    let uninstall = run.hooks(DriverAction::Uninstall).last();
    if let Some(failure) = uninstall.and_then(|call| call.failure.as_deref()) {
        return Err(format!("the hook `uninstall` failed: {}", redacted(failure)).into());
    }
    // A stopped consumer begins after its start, and an uninstalled one has ended.
    let at = micros(deletion.answered);
    let pause = run.pauses().find(|pause| pause.contains(&at));
    let uninstalled = uninstall
        .map(|call| micros(call.until))
        .filter(|until| deleted_at > *until);
    let begin = uninstalled
        .or(pause.map(|pause| *pause.end()))
        .unwrap_or(at)
        .max(at);
    let limit = begin.saturating_add(settle);
    let ends = run
        .testbed
        .expectations
        .iter()
        .map(|expectation| expectation.until);
    if deleted_at == Micros::MAX && ends.max().is_none_or(|end| micros(end) < limit) {
        return Err("the run ended before the deadline for the deletion of the profile".into());
    }
    if deleted_at <= limit {
        let has_hook = run.testbed.hooks.contains(&DriverAction::Uninstall);
        let reason = "profiles had finalizers, and the consumer has no hook `uninstall`";
        return has_hook.then_some(Answer::Kept).ok_or(reason.into());
    }
    let message = match uninstalled {
        Some(_) => "the consumer's finalizer blocks a deletion after the consumer was uninstalled",
        None => "the consumer's finalizer blocks a deletion for too long",
    };
    let finding = Finding::on(run.profile_ref(&deletion.object), message)
        .at(FINALIZERS)
        .expected("no finalizer of the consumer")
        .observed(describe_writes(&setters));
    Ok(Answer::all([finding.advisory_unless(uninstalled.is_some())]))
}

/// The writes with which the consumer set finalizers; none if another client did.
fn finalizer_writes<'e>(run: &ConsumerRun<'e>, object: &ObjectKey) -> Result<Vec<&'e Request>, &'static str> {
    let log = run.evidence.requests.as_ref();
    let log = log.filter(|_| !run.consumer.user.is_empty());
    let log = log.ok_or("finalizers blocked a deletion; configure the consumer's user and the audit log")?;
    let setters = log.events.iter().filter(|request| {
        let mut parts = request.body.iter().flat_map(|body| &body.parts);
        matches!(&*request.verb, "create" | "update" | "patch")
            && request.is_write()
            && request.namespace_and_name() == (&*object.namespace, &*object.name)
            && request.subresource.is_empty()
            && !request.is_the_suites()
            && parts.any(|part| part == FINALIZERS)
    });
    let (by_consumer, by_other_clients): (Vec<&Request>, Vec<&Request>) =
        setters.partition(|request| run.sent(request));
    match (by_consumer.is_empty(), by_other_clients.is_empty()) {
        (true, true) => Err("the audit log does not show who set finalizers"),
        (false, false) => Err("another client also sets finalizers; cannot attribute the remaining one"),
        _ => Ok(by_consumer),
    }
}

/// `consumer-hub/profile-not-written`
///
/// The consumer changes only the display name and finalizers, and creates or deletes no profile.
pub(in crate::rules) fn profile_not_written(run: &ConsumerRun, request: &Request) -> Result<bool, Reason> {
    if !request.subresource.is_empty() {
        return Ok(false);
    }
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

/// The watched versions before and after a write, by the resourceVersion in its response.
fn versions_around<'e>(
    run: &ConsumerRun<'e>,
    request: &Request,
) -> Option<(&'e ClusterProfile, &'e ClusterProfile)> {
    let version = request.resource_version.as_deref()?;
    let watched = run.evidence.profiles.iter().map(|history| &history.versions);
    let mut pairs = watched.flat_map(|versions| versions.windows(2));
    let pair = pairs.find(|pair| *pair[1].object.metadata.resource_version == *version)?;
    Some((&pair[0].object, &pair[1].object))
}

/// The most places of one credential that a finding lists.
const LISTED: usize = 3;

/// `consumer-secrets/credential-to-its-member-only`
///
/// With fewer than two members, no credential can go to another one.
pub(in crate::rules) fn credential_to_its_member_only(run: &ConsumerRun) -> Vec<Answer> {
    let mut members = BTreeSet::new();
    let mut misused: BTreeMap<(&str, &str), Finding> = BTreeMap::new();
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
            let misuse = misused.entry((member, &call.member));
            misuse.or_insert_with(|| sent_elsewhere(run, member, call));
        }
    }
    if misused.is_empty() && members.len() < 2 {
        let reason = "the consumer called fewer than two members with their credentials";
        return vec![Answer::unknown(reason)];
    }
    vec![Answer::all(misused.into_values())]
}

fn is_own_address(run: &ConsumerRun, call: &MemberCall, member: &str) -> bool {
    let mut addresses = run.testbed.addresses.iter();
    call.member.is_empty() && addresses.any(|address| address.url == call.url && address.member == *member)
}

fn sent_elsewhere(run: &ConsumerRun, member: &str, call: &MemberCall) -> Finding {
    let (url, at) = (redacted(&call.url), call.at);
    let observed = format!("a request to {url} with this credential at {at}");
    let expected = format!("the credential of {} only for its member", redacted(member));
    Finding::at_field_of(profile_of(run, member), "status.accessProviders", observed).expected(expected)
}

/// `consumer-secrets/nothing-secret-in-the-open`
pub(in crate::rules) fn nothing_secret_in_the_open(run: &ConsumerRun) -> Vec<Answer> {
    let issued = run.plugin_runs().filter_map(|call| match &call.answer {
        PluginAnswer::Credential { member, .. } => Some(&**member),
        _ => None,
    });
    let mut places: BTreeMap<&str, Vec<String>> = issued.map(|member| (member, Vec::new())).collect();
    for mention in run.evidence.mentions.iter().flat_map(|mentions| &mentions.items) {
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
