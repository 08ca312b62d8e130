//! A profile's manager never changes, and the hub enforces this.

use evidence::{Asked, Evidence, Kind, Probe, ProbeMethod, ProbeOutcome, ServedVersion, api::names};

use crate::{
    subjects::{Finding, Findings, Profiles},
    text::redacted_or_absent,
};

/// `identity/manager-immutable`
///
/// `spec.clusterManager` never changes during the run, and the hub rejects a change of it.
///
/// Dry runs show whether the hub rejects it. Without an answered dry run, the CRD's schema can prove that it does, but
/// not that it does not: a webhook may reject what the schema allows.
pub(in crate::rules) fn manager_immutable(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    let watched = matches!(evidence.asked(Kind::Timeline), Asked::Yes);
    if watched {
        judge_changes(profiles, findings);
    }
    let mut refused = false;
    for probe in &evidence.probes {
        match &probe.outcome {
            ProbeOutcome::Accepted => {
                findings.examine();
                findings.report(accepted(probe));
            }
            ProbeOutcome::Refused { message, fields, .. } if is_for_the_change(message, fields) => {
                findings.examine();
                refused = true;
            }
            // Refused for another cause, which says nothing about the change itself.
            ProbeOutcome::Refused { .. } | ProbeOutcome::Unanswered { .. } => {}
        }
    }
    if refused {
        return;
    }
    match (schema(evidence), watched) {
        (Some(version), _) if version.immutable_manager => {
            if !watched && findings.list().is_empty() {
                profiles.inventory().for_each(|_| findings.examine());
            }
            findings.note_unless_found(format!(
                "no dry run was answered: judged by the schema of {}",
                version.name
            ));
        }
        (Some(version), _) => findings.cannot_tell_unless_found(format!(
            "the schema of {} allows a change of spec.clusterManager, and no dry run showed whether a webhook rejects it",
            version.name
        )),
        (None, true) if evidence.is_whole(Kind::Timeline) => findings.note_unless_found(
            "neither a dry run nor the CRD was available: judged by the observed changes alone",
        ),
        (None, _) => {
            findings.cannot_tell_unless_found("no dry run showed whether the hub rejects a change, and the CRD was not read");
        }
    }
}

fn judge_changes(profiles: &Profiles, findings: &mut Findings) {
    for object in profiles.objects() {
        findings.examine();
        let versions = || object.iter().flat_map(|history| &history.versions);
        for (before, after) in versions().zip(versions().skip(1)) {
            let name = |version: &evidence::Version| {
                let manager = version.object.spec.cluster_manager.as_ref();
                manager.map(|manager| manager.name.clone())
            };
            if before.object.spec.cluster_manager != after.object.spec.cluster_manager {
                findings.report(
                    Finding::on(&after.object, "manager of the profile was changed")
                        .at("spec.clusterManager.name")
                        .expected(redacted_or_absent(name(before).as_deref()))
                        .observed(redacted_or_absent(name(after).as_deref())),
                );
            }
        }
    }
}

fn accepted(probe: &Probe) -> Finding {
    let message = match probe.method {
        ProbeMethod::MergePatch => "hub accepts a change of the manager (dry run of a merge patch)",
        ProbeMethod::Update => "hub accepts a change of the manager (dry run of an update)",
    };
    Finding::on(probe.object.clone(), message)
        .at("spec.clusterManager")
        .expected("refused by the hub")
        .observed("accepted by the hub")
}

/// Whether the hub refused because the manager changed. A refusal that is about the label or the value names the manager,
/// too, but refuses another manager from the beginning just as well.
fn is_for_the_change(message: &str, fields: &[String]) -> bool {
    let mut texts = vec![message.to_ascii_lowercase()];
    texts.extend(fields.iter().map(|field| field.to_ascii_lowercase()));
    let says = |words: &[&str]| {
        texts
            .iter()
            .any(|text| words.iter().any(|word| text.contains(word)))
    };
    let is_about_another = says(&[names::LABEL_MANAGER, "metadata.labels"]) || says(&["unsupported value"]);
    says(&["clustermanager"]) && (says(&["immutable"]) || !is_about_another)
}

/// The version of the CRD that was read, if the CRD was readable.
fn schema(evidence: &Evidence) -> Option<&ServedVersion> {
    let hub = &evidence.header.hub;
    let read = hub.api_version.as_deref()?.rsplit('/').next()?;
    hub.served.iter().find(|version| version.name == read)
}
