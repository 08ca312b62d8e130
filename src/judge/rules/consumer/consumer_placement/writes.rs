//! What a consumer writes into slices.

use evidence::{Evidence, Request, SliceHistory, api::names, runs::LABEL_RUN};

use super::READS_NONE;
use crate::{
    reasons::CONSUMER_NOT_NAMED,
    rules::consumer::support::{
        testbed::Play,
        who::{
            authors::is_by_program,
            logged::{Key, logged_key},
        },
        writes::{by_object, logged_object, writes_in_words},
    },
    subjects::{Finding, Findings},
};

/// `consumer-placement/read-only-and-feedback-elsewhere`
///
/// The consumer's user writes nothing to a slice that the run published: what it has to say, it says elsewhere. A refused write,
/// and a dry run, change nothing. A request on a whole collection is a hint: it may have selected others.
pub(in crate::rules) fn read_only_and_feedback_elsewhere(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    if !claims.reads_placements() {
        findings.not_asked(READS_NONE);
        return;
    }
    let Some(requests) = evidence.slice_requests.as_ref().map(|log| &log.events) else {
        findings.cannot_tell("the audit log was not read for PlacementDecisions");
        return;
    };
    let Some(user) = play.own_user(requests) else {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return;
    };
    // The run wrote each slice.
    if !requests.iter().any(Request::is_write) {
        findings
            .cannot_tell("the audit log has no write on PlacementDecisions at all, so it may leave them out");
        return;
    }
    // Who writes a slice may take the label away.
    let is_staged = |history: &&SliceHistory| {
        let mut versions = history.versions.iter();
        versions.any(|version| version.object.label(LABEL_RUN) == Some(&*play.testbed.run))
    };
    let changes = |request: &Request| request.is_write() && request.changed != Some(false);
    // A copy has the labels of what was copied.
    let is_its_own = |key: &Key<'_>| {
        let is_creation = |request: &&Request| {
            changes(request) && &*request.verb == "create" && logged_key(request) == *key
        };
        let first = requests.iter().find(is_creation);
        first.is_some_and(|first| play.is_consumers(first))
    };
    let staged: Vec<Key<'_>> = evidence
        .slice_histories()
        .filter(is_staged)
        .map(|history| history.last())
        .map(|slice| (&*slice.metadata.namespace, &*slice.metadata.name))
        .filter(|key| !is_its_own(key))
        .collect();
    if staged.is_empty() {
        findings.nothing_happened("no decision was staged");
        return;
    }
    findings.examine();
    let is_on_staged = |request: &&Request| {
        let key = logged_key(request);
        staged.contains(&key) || (key.1.is_empty() && staged.iter().any(|staged| staged.0 == key.0))
    };
    let writes = requests
        .iter()
        .filter(|request| changes(request))
        .filter(is_on_staged);
    let writes = writes.filter(|request| play.is_consumers(request));
    for (key, writes) in by_object(writes) {
        let slice = logged_object(names::PLACEMENT_KIND, key);
        let finding = Finding::on(slice, "the consumer writes a slice of a decision")
            .at("metadata.resourceVersion")
            .expected("get, list and watch only")
            .observed(writes_in_words(user, &writes));
        // A person may borrow the consumer's user.
        let is_sure = !key.1.is_empty() && writes.iter().any(|write| is_by_program(write));
        findings.report(if is_sure { finding } else { finding.advisory() });
    }
}
