//! How a consumer speaks with a credential plugin.

use std::collections::BTreeSet;

use evidence::Evidence;

use crate::{
    reasons::EXEC_VERSION_NOT_CLAIMED,
    rules::consumer::support::testbed::Play,
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-exec/protocol-as-configured`
///
/// The consumer runs the plugin in the version of its protocol that its own file has. That it tells the cluster, the calls of
/// members show: without it, the plugin knows no member.
pub(in crate::rules) fn protocol_as_configured(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let Some(configured) = &play.testbed.consumer.exec_api_version else {
        findings.not_asked(EXEC_VERSION_NOT_CLAIMED);
        return;
    };
    findings.nothing_happened("the consumer ran no plugin for a profile");
    let mut told = BTreeSet::new();
    for call in play.plugin_calls() {
        // A run without KUBERNETES_EXEC_INFO, and one for a cluster of no profile, may be for something else.
        let (Some(version), Some((profile, _))) = (&call.api_version, play.entry_of(call)) else {
            continue;
        };
        findings.examine();
        let name = (&*profile.metadata.namespace, &*profile.metadata.name);
        if version == configured || !told.insert((name, version)) {
            continue;
        }
        let message = "the consumer runs the plugin in another version of its protocol";
        findings.report(
            Finding::on(profile, message)
                .at("KUBERNETES_EXEC_INFO.apiVersion")
                .expected(redacted(configured))
                .observed(format!(
                    "{} in the call of {} at {}",
                    redacted(version),
                    redacted(&call.provider),
                    call.at
                )),
        );
    }
}
