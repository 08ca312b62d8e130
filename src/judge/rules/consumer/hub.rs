//! What a consumer writes on the hub.

use std::collections::BTreeSet;

use evidence::{DriverAction, ObjectKey, Publication, Published, Reason, Request, api::ClusterProfile};

use crate::{
    engine::{
        Answer,
        consumer::{ConsumerRun, ConsumerWrites, micros},
    },
    shared::changed_fields::changed_fields,
    subjects::Finding,
    text::redacted,
    time::Micros,
};

const FINALIZERS: &str = "metadata.finalizers";

/// The reason for requests on a whole collection.
const COLLECTION: &str =
    "the consumer sent a request on a whole collection, which may have selected other objects";

/// `consumer-hub/status-not-written`
pub(in crate::rules) fn status_not_written(writes: &ConsumerWrites) -> Answer {
    let of_status = writes
        .requests
        .iter()
        .copied()
        .filter(|request| &*request.subresource == "status");
    broken_by(
        &of_status.collect::<Vec<_>>(),
        "status",
        "the consumer writes a profile's status",
        "no write by a consumer",
    )
}

/// `consumer-hub/profile-not-written`
///
/// The consumer changes nothing but the display name and finalizers, and creates or deletes no profile.
pub(in crate::rules) fn profile_not_written(writes: &ConsumerWrites) -> Answer {
    let of_object = writes
        .requests
        .iter()
        .copied()
        .filter(|request| request.subresource.is_empty());
    let (mut wrong, mut unknown) = (Vec::new(), Answer::Kept);
    for request in of_object {
        match changes_more_than_allowed(writes.run, request) {
            Ok(true) => wrong.push(request),
            Ok(false) => {}
            Err(reason) => unknown = Answer::Unknown(reason),
        }
    }
    let path = "metadata.resourceVersion";
    broken_by(
        &wrong,
        path,
        "the consumer writes a profile",
        "get, list and watch only",
    )
    .and(unknown)
}

/// `consumer-placement/read-only-and-feedback-elsewhere`
pub(in crate::rules) fn read_only_and_feedback_elsewhere(writes: &ConsumerWrites) -> Answer {
    if writes
        .requests
        .iter()
        .any(|request| request.namespace_and_name().1.is_empty())
    {
        return Answer::Unknown(COLLECTION.into());
    }
    let (path, message) = (
        "metadata.resourceVersion",
        "the consumer writes a slice of a decision",
    );
    broken_by(&writes.requests, path, message, "get, list and watch only")
}

/// `consumer-hub/deletion-not-blocked`
///
/// After the consumer was uninstalled, no finalizer that it set holds a deleted profile. While it runs, it may take as long as it
/// takes to follow a change.
pub(in crate::rules) fn deletion_not_blocked(run: &ConsumerRun) -> Vec<Answer> {
    deletions(run)
        .iter()
        .map(|deletion| judge_deletion(run, deletion))
        .collect()
}

fn judge_deletion(run: &ConsumerRun, deletion: &Deletion) -> Answer {
    if deletion.finalizers.is_empty() {
        return Answer::Kept;
    }
    let setters = match finalizer_writes(run, deletion) {
        Ok(setters) if setters.is_empty() => return Answer::NotApplicable,
        Ok(setters) => setters,
        Err(reason) => return Answer::Unknown(reason),
    };
    let Some(settle) = run.settle else {
        return Answer::Unknown("the consumer never called the member of a control profile".into());
    };
    let mut uninstalls = run.hooks(DriverAction::Uninstall);
    if let Some(failure) = uninstalls.find_map(|call| call.failure.as_deref()) {
        return Answer::Unknown(format!("the hook `uninstall` failed: {}", redacted(failure)).into());
    }
    let (was_uninstalled, limit) = deadline(run, deletion, settle);
    let observed = run
        .testbed
        .expectations
        .iter()
        .map(|expectation| micros(expectation.until))
        .max();
    if deletion.gone == Micros::MAX && observed.is_none_or(|observed| observed < limit) {
        return Answer::Unknown("the run ended before the consumer had to let the profile go".into());
    }
    let is_held_longer = deletion.gone > limit;
    let finding = |message: &str| {
        Finding::on(run.profile_ref(deletion.object), message)
            .at(FINALIZERS)
            .expected("none of the consumer's, so that the profile goes")
            .observed(ConsumerWrites::describe(&setters))
    };
    match (was_uninstalled, is_held_longer) {
        (true, true) => Answer::broken(finding(
            "the consumer's finalizer holds a profile after it was uninstalled",
        )),
        (false, true) => Answer::warning(finding("the consumer's finalizer holds a profile for long")),
        (_, false) if run.testbed.hooks.contains(&DriverAction::Uninstall) => Answer::Kept,
        (_, false) => Answer::Unknown(
            "profiles had finalizers, and the run has no hook that uninstalls the consumer".into(),
        ),
    }
}

/// Whether the consumer was uninstalled before the profile was gone, and until when it may hold the profile.
fn deadline(run: &ConsumerRun, deletion: &Deletion, settle: Micros) -> (bool, Micros) {
    let at = deletion.at;
    let uninstalls = run.hooks(DriverAction::Uninstall).map(|call| micros(call.until));
    let uninstalled = uninstalls.filter(|until| deletion.gone > *until).last();
    let is_in = |(stopped, started): &(Micros, Micros)| *stopped <= at && at <= *started;
    let started = run.pauses().find(is_in).map_or(at, |(_, started)| started);
    let since = uninstalled.map_or(started, |uninstalled| uninstalled.max(at));
    (uninstalled.is_some(), since.saturating_add(settle))
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
    for Publication {
        object,
        answered,
        state,
        ..
    } in &run.testbed.published
    {
        let at = micros(*answered);
        let open = deletions
            .iter_mut()
            .rfind(|deletion| deletion.object == object && deletion.gone == Micros::MAX);
        match (state, open) {
            (Published::Terminating { finalizers }, None) => deletions.push(Deletion {
                object,
                at,
                gone: Micros::MAX,
                finalizers,
            }),
            (Published::Deleted {}, None) => deletions.push(Deletion {
                object,
                at,
                gone: at,
                finalizers: &[],
            }),
            (Published::Deleted {}, Some(open)) => open.gone = at,
            _ => {}
        }
    }
    deletions
}

/// The writes with which the consumer set finalizers; none if it did not.
fn finalizer_writes<'e>(run: &ConsumerRun<'e>, deletion: &Deletion) -> Result<Vec<&'e Request>, Reason> {
    let held = || {
        deletion
            .finalizers
            .iter()
            .map(|name| redacted(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(log) = run
        .evidence
        .requests
        .as_ref()
        .filter(|_| !run.consumer().user.is_empty())
    else {
        return Err(format!(
            "finalizers held a deleted profile ({}): name the consumer's user, and pass the audit log",
            held()
        )
        .into());
    };
    if !run.log_covers(log, deletion.object) {
        return Err("the audit log begins after the profile was published".into());
    }
    let object = (&*deletion.object.namespace, &*deletion.object.name);
    let writes = log
        .events
        .iter()
        .filter(|request| request.is_write() && request.namespace_and_name() == object);
    let writes = writes.filter(|request| request.subresource.is_empty() && !request.is_the_suites());
    let sets = |request: &&Request| {
        let parts = request.body.iter().flat_map(|body| &body.parts);
        matches!(&*request.verb, "create" | "update" | "patch")
            && parts.into_iter().any(|part| part == FINALIZERS)
    };
    let setters: Vec<&Request> = writes.filter(sets).collect();
    let (own, others): (Vec<&Request>, Vec<&Request>) =
        setters.into_iter().partition(|request| run.sent(request));
    if !own.is_empty() && !others.is_empty() {
        return Err(format!(
            "another client also sets finalizers; cannot attribute the remaining one: {}",
            held()
        )
        .into());
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
    let parts: BTreeSet<&str> = request
        .body
        .iter()
        .flat_map(|body| &body.parts)
        .map(String::as_str)
        .collect();
    if &*request.verb != "patch" || request.body.is_none() || parts.contains("spec") {
        return Err("the audit log does not show what a write of the consumer changed: log it at level RequestResponse".into());
    }
    Ok([
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences",
    ]
    .iter()
    .any(|part| parts.contains(part)))
}

/// The versions before and after a write, by the resourceVersion in its response.
fn versions_around<'e>(
    run: &ConsumerRun<'e>,
    request: &Request,
) -> Option<(&'e ClusterProfile, &'e ClusterProfile)> {
    let written = number(request.resource_version.as_deref()?)?;
    let (namespace, name) = request.namespace_and_name();
    let published = run
        .testbed
        .published
        .iter()
        .filter_map(|publication| match &publication.state {
            Published::Profile(profile) => Some(&**profile),
            _ => None,
        });
    let watched = run
        .evidence
        .profiles
        .iter()
        .flat_map(|history| &history.versions)
        .map(|version| &version.object);
    let versions = published
        .chain(watched)
        .filter(|profile| *profile.metadata.namespace == *namespace && *profile.metadata.name == *name);
    let numbered: Vec<(u64, &ClusterProfile)> = versions
        .filter_map(|profile| Some((number(&profile.metadata.resource_version)?, profile)))
        .collect();
    let after = numbered.iter().find(|(version, _)| *version == written)?;
    let before = numbered
        .iter()
        .filter(|(version, _)| *version < written)
        .max_by_key(|(version, _)| *version)?;
    Some((before.1, after.1))
}

fn number(resource_version: &str) -> Option<u64> {
    resource_version.parse().ok()
}

/// Broken if there are such writes.
fn broken_by(writes: &[&Request], path: &str, message: &str, expected: &str) -> Answer {
    Answer::broken_if(!writes.is_empty(), || {
        Finding::at_path(path, message)
            .expected(expected)
            .observed(ConsumerWrites::describe(writes))
    })
}
