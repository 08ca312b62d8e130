//! What a consumer writes into profiles.

use std::collections::BTreeSet;

use evidence::{
    Evidence, Request,
    api::{ClusterProfile, names},
};

use crate::{
    reasons::CONSUMER_NOT_NAMED,
    rules::consumer::support::{
        testbed::Play,
        who::{
            Effect, Observed, Sender,
            authors::is_by_program,
            logged::{Logged, logged_key},
        },
        writes::{by_object, logged_object, writes_in_words},
    },
    subjects::{Finding, Findings},
};

/// `consumer-hub/status-not-written`
///
/// The consumer's user writes no status of a profile. A refused write, and a dry run, change nothing.
pub(in crate::rules) fn status_not_written(evidence: &Evidence, findings: &mut Findings) {
    let Some(writes) = its_writes(evidence, findings) else {
        return;
    };
    let writes = writes.into_iter().filter(|write| &*write.subresource == "status");
    for (key, writes) in by_object(writes) {
        let finding = Finding::on(
            logged_object(names::KIND, key),
            "the consumer writes a profile's status",
        )
        .at("status")
        .expected("no write by a consumer")
        .observed(writes_in_words(Sender::of(writes[0]).name, &writes));
        // A person may borrow the consumer's user.
        let is_sure = writes.iter().any(|write| is_by_program(write));
        findings.report(if is_sure { finding } else { finding.advisory() });
    }
}

/// `consumer-hub/profile-not-written`
///
/// The consumer's user makes and deletes no profile, and writes no label, annotation or spec of one. The display name is set by
/// consumers, and the log does not tell it from the rest of the spec: a write of the spec alone is a hint. A finalizer is the
/// subject of another rule.
pub(in crate::rules) fn profile_not_written(evidence: &Evidence, findings: &mut Findings) {
    let Some(writes) = its_writes(evidence, findings) else {
        return;
    };
    let logged = Logged::of(evidence);
    let writes = writes.into_iter().filter(|write| write.subresource.is_empty());
    for (key, writes) in by_object(writes) {
        let requests = evidence.requests.iter().flat_map(|log| &log.events);
        let all = requests.filter(|request| request.is_write() && logged_key(request) == key);
        let observed = Observed::of(evidence, all.collect(), logged.histories(key), differ);
        let effects: Vec<_> = writes
            .iter()
            .map(|write| (*write, effect(write, &observed)))
            .collect();
        let effects = || effects.iter().filter(|(_, effect)| *effect != Effect::Kept);
        let writes: Vec<&Request> = effects().map(|(write, _)| *write).collect();
        if writes.is_empty() {
            continue;
        }
        let finding = Finding::on(logged_object(names::KIND, key), "the consumer writes a profile")
            .at("metadata.resourceVersion")
            .expected("get, list and watch only")
            .observed(writes_in_words(Sender::of(writes[0]).name, &writes));
        let is_sure = effects().any(|(write, effect)| *effect != Effect::Unknown && is_by_program(write));
        findings.report(if is_sure { finding } else { finding.advisory() });
    }
}

/// What a write did to what consumers leave alone. The body of a patch tells it, but for the spec, of which they set the display
/// name; that of an update has all of the object, so that the watch must tell.
fn effect(write: &Request, observed: &Observed<'_, ClusterProfile>) -> Effect {
    let Some(body) = write.body.as_ref().filter(|_| &*write.verb == "patch") else {
        return observed.effect(write);
    };
    let has = |wanted: &[&str]| body.parts.iter().any(|part| wanted.contains(&&**part));
    if has(&[
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences",
    ]) {
        Effect::Changed
    } else if has(&["spec"]) {
        Effect::Unknown
    } else {
        Effect::Kept
    }
}

/// Whether two versions differ in what consumers leave alone.
fn differ(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.metadata.labels != other.metadata.labels
        || one.metadata.annotations != other.metadata.annotations
        || one.spec.cluster_manager != other.spec.cluster_manager
}

/// The accepted writes by the consumer's user where the run staged profiles, if the user is named and the log would show them.
fn its_writes<'e>(evidence: &'e Evidence, findings: &mut Findings) -> Option<Vec<&'e Request>> {
    let play = Play::of(evidence, findings)?;
    let requests = &evidence.requests.as_ref()?.events;
    if play.own_user(requests).is_none() {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return None;
    }
    let is_known =
        play.testbed.user_in_audit_log || requests.iter().any(|request| play.is_consumers(request));
    if !is_known {
        findings.cannot_tell(
            "the audit log has no request of the consumer's user: it may be another one, or the policy leaves its reads out",
        );
        return None;
    }
    // The run wrote each status.
    if !requests.iter().any(Request::is_write) {
        findings
            .cannot_tell("the audit log has no write on ClusterProfiles at all, so it may leave them out");
        return None;
    }
    findings.examine();
    // Elsewhere, it may be a manager itself.
    let staged = play
        .subjects()
        .iter()
        .map(|subject| &*subject.last.metadata.namespace);
    let staged: BTreeSet<&str> = staged.collect();
    let counts = |request: &&Request| {
        let is_accepted = request.is_write() && request.changed != Some(false);
        is_accepted && play.is_consumers(request) && staged.contains(&*request.namespace)
    };
    Some(requests.iter().filter(counts).collect())
}
