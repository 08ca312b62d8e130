//! What the hub lets the consumer do.

use std::collections::BTreeSet;

use evidence::{AllowedWrite, Evidence};

use crate::{
    reasons::CONSUMER_NOT_NAMED,
    rules::consumer::support::rights::{allowed_by_namespace, user_ref},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-hub/least-privilege`
///
/// The hub does not let the consumer's user create or delete profiles, write their status, or list the Secrets of all namespaces.
/// It may update profiles: consumers set the display name and finalizers. No document limits its rights, and some have a need for
/// more: what is found is a hint.
pub(in crate::rules) fn least_privilege(evidence: &Evidence, findings: &mut Findings) {
    let Some(testbed) = &evidence.testbed else {
        return;
    };
    let user = &testbed.consumer.user;
    if user.is_empty() {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return;
    }
    let Some(rights) = &testbed.rights else {
        findings.cannot_tell("the hub did not say what the consumer's user may do");
        return;
    };
    let unasked: Vec<String> = testbed
        .groups
        .iter()
        .filter(|group| !is_usual(group))
        .map(|group| redacted(group))
        .collect();
    let are_groups_known = testbed.reads.is_some() || user.starts_with("system:serviceaccount:");
    if unasked.is_empty() && are_groups_known {
        findings.examine();
    } else if unasked.is_empty() {
        findings.cannot_tell(
            "no audit log tells in which groups the consumer's user is, which may have rights of their own",
        );
    } else {
        findings.cannot_tell(format!(
            "the hub was not asked what the consumer's user may do as a member of {}",
            unasked.join(", ")
        ));
    }
    let all_secrets = rights.all_secrets.then(|| "list in all namespaces".to_owned());
    let too_much = [
        (
            "the hub lets the consumer create or delete profiles",
            "clusterprofiles",
            in_words(&rights.profiles),
        ),
        (
            "the hub lets the consumer write the status of profiles",
            "clusterprofiles/status",
            in_words(&rights.statuses),
        ),
        (
            "the hub lets the consumer read all Secrets",
            "secrets",
            all_secrets,
        ),
    ];
    for (message, resource, allowed) in too_much {
        let Some(allowed) = allowed else { continue };
        findings.report(
            Finding::on(user_ref(user), message)
                .at(resource)
                .expected("the rights alone that it needs")
                .observed(allowed)
                .advisory(),
        );
    }
}

/// Whether each user, or each service account, is in a group.
fn is_usual(group: &str) -> bool {
    group == "system:authenticated" || group.starts_with("system:serviceaccounts")
}

/// Which verbs are allowed where; none if there are none.
fn in_words(writes: &BTreeSet<AllowedWrite>) -> Option<String> {
    (!writes.is_empty()).then(|| allowed_by_namespace(writes).join("; "))
}
