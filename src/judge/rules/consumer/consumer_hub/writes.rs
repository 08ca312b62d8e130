//! What a consumer writes into profiles.

use std::collections::BTreeMap;

use evidence::{Evidence, ObjectKey, ObjectRef, Request, api::names};

use crate::{
    reasons::CONSUMER_NOT_NAMED,
    shared::{consumer::Play, writes::writes_in_words},
    subjects::{Finding, Findings},
    who::{Sender, authors::is_by_program},
};

/// `consumer-hub/status-not-written`
///
/// The consumer's user writes no status of a profile. A refused write, and a dry run, change nothing.
pub(in crate::rules) fn status_not_written(evidence: &Evidence, findings: &mut Findings) {
    let Some(user) = its_user(evidence, findings) else {
        return;
    };
    let writes = writes_by(evidence, user).filter(|write| &*write.subresource == "status");
    for (key, writes) in by_object(writes) {
        let finding = Finding::on(profile(key), "the consumer writes a profile's status")
            .at("status")
            .expected("no write by a consumer")
            .observed(writes_in_words(user, &writes));
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
    let Some(user) = its_user(evidence, findings) else {
        return;
    };
    let is_finalizer = |write: &&Request| parts(write).is_some_and(|parts| parts == ["metadata.finalizers"]);
    let writes =
        writes_by(evidence, user).filter(|write| write.subresource.is_empty() && !is_finalizer(write));
    for (key, writes) in by_object(writes) {
        // What is not told may be the display name.
        let is_sure = |write: &&Request| match (&*write.verb, parts(write)) {
            ("update" | "patch", Some(parts)) => parts.iter().any(|part| part.starts_with("metadata.")),
            ("update" | "patch", None) => false,
            _ => true,
        };
        let finding = Finding::on(profile(key), "the consumer writes a profile")
            .at("metadata.resourceVersion")
            .expected("get, list and watch only")
            .observed(writes_in_words(user, &writes));
        let is_any_sure = writes.iter().any(|write| is_sure(write) && is_by_program(write));
        findings.report(if is_any_sure { finding } else { finding.advisory() });
    }
}

/// The parts of the object that a write's body has, if the log tells.
fn parts(write: &Request) -> Option<&[String]> {
    write.body.as_ref().map(|body| &*body.parts)
}

/// The consumer's user, if it is named and the log would show its writes.
fn its_user<'e>(evidence: &'e Evidence, findings: &mut Findings) -> Option<&'e str> {
    let play = Play::of(evidence, findings)?;
    let user = &*play.stage.consumer.user;
    if user.is_empty() {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return None;
    }
    let requests = evidence.requests.as_ref()?;
    let mut own = requests.events.iter().filter(|request| request.is_the_suites());
    if own.any(|request| Sender::of(request).name == user) {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return None;
    }
    // The run wrote each status.
    if !requests.events.iter().any(Request::is_write) {
        findings
            .cannot_tell("the audit log has no write on ClusterProfiles at all, so it may leave them out");
        return None;
    }
    findings.examine();
    Some(user)
}

/// The writes by a user that the hub carried out.
fn writes_by<'e>(evidence: &'e Evidence, user: &str) -> impl Iterator<Item = &'e Request> {
    let requests = evidence.requests.iter().flat_map(|log| &log.events);
    requests.filter(move |request| request.is_write() && Sender::of(request).name == user)
}

/// The writes on each profile, or on each namespace where the log omits the name.
fn by_object<'e>(writes: impl Iterator<Item = &'e Request>) -> BTreeMap<ObjectKey, Vec<&'e Request>> {
    let mut by_object: BTreeMap<ObjectKey, Vec<&Request>> = BTreeMap::new();
    for write in writes {
        let key = ObjectKey {
            namespace: write.namespace.to_string(),
            name: write.name.to_string(),
        };
        by_object.entry(key).or_default().push(write);
    }
    by_object
}

fn profile(key: ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: key.namespace,
        name: key.name,
        ..ObjectRef::default()
    }
}
