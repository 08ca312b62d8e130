//! The manager of a profile: its label and its name.

use evidence::{
    Probe, ProbeMethod, ProbeOutcome, Reason, ServedVersion,
    api::{ClusterProfile, names::LABEL_MANAGER, syntax::is_label_value},
};

use crate::{
    engine::{Answer, Change, Hub, Value},
    subjects::Finding,
    text::ABSENT,
};

const LABEL_PATH: &str = "metadata.labels[x-k8s.io/cluster-manager]";
const NAME_PATH: &str = "spec.clusterManager.name";
const MANAGER_PATH: &str = "spec.clusterManager";

/// `identity/manager-label-present`
///
/// The profile has the manager label.
pub(in crate::rules) fn manager_label_present(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::broken_if(profile.label(LABEL_MANAGER).is_none(), || {
        Finding::at_path(LABEL_PATH, "profile lacks the manager label")
            .expected(expected_label(profile))
            .observed(ABSENT)
    })
}

/// `identity/manager-label-matches`
///
/// The manager label equals `spec.clusterManager.name`.
pub(in crate::rules) fn manager_label_matches(profile: &ClusterProfile, _: &Hub) -> Answer {
    let manager = profile.manager();
    let Some(label) = profile.label(LABEL_MANAGER).filter(|_| is_usable(manager)) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(label != manager, || {
        Finding::at_path(LABEL_PATH, "manager label differs from the manager's name")
            .expected(manager)
            .observed(label)
    })
}

/// `identity/manager-name-usable`
///
/// The manager's name is a valid label value, so that the manager label can hold it.
pub(in crate::rules) fn manager_name_usable(profile: &ClusterProfile, _: &Hub) -> Answer {
    let manager = profile.spec.cluster_manager.as_ref();
    let name = manager.map_or(ABSENT, |manager| &manager.name);
    Answer::broken_if(!is_usable(profile.manager()), || {
        Finding::at_path(NAME_PATH, "manager's name is not a valid label value")
            .expected("1 to 63 letters, digits, `-`, `_` or `.`, a letter or digit at both ends")
            .observed(name)
    })
}

/// `identity/manager-label-from-creation`
///
/// The first version of a profile has the manager label.
pub(in crate::rules) fn manager_label_from_creation(created: &Change<ClusterProfile>, _: &Hub) -> Answer {
    let Some(profile) = created.after else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(profile.label(LABEL_MANAGER).is_none(), || {
        Finding::at_path(LABEL_PATH, "profile was created without the manager label")
            .expected(expected_label(profile))
            .observed(ABSENT)
    })
}

fn expected_label(profile: &ClusterProfile) -> &str {
    match profile.manager() {
        "" => "the name of the cluster manager",
        manager => manager,
    }
}

/// Whether a manager's name is non-empty and a valid label value.
fn is_usable(manager: &str) -> bool {
    !manager.is_empty() && is_label_value(manager)
}

/// `identity/manager-immutable`
///
/// `spec.clusterManager` never changes, whoever asks for it: the hub has to refuse the change.
pub(in crate::rules) fn manager_name(profile: &ClusterProfile) -> Option<Value> {
    let manager = profile.spec.cluster_manager.as_ref()?;
    Some(Value {
        path: NAME_PATH.to_owned(),
        value: manager.name.to_string(),
    })
}

/// `identity/manager-immutable`
///
/// The hub refuses a dry run that changes the manager, or its CRD has the rule that makes the manager immutable.
pub(in crate::rules) fn hub_refuses_another_manager(hub: &Hub) -> Vec<Answer> {
    let probes = &hub.evidence.probes;
    let accepted = probes
        .iter()
        .filter(|probe| probe.outcome == ProbeOutcome::Accepted);
    let findings: Vec<Finding> = accepted.map(accepts_another_manager).collect();
    let is_refused = probes.iter().any(refuses_the_change);
    let answer = match (findings.is_empty(), served_version(hub)) {
        (false, _) => Answer::all(findings),
        _ if is_refused => Answer::Kept,
        (_, Some(version)) if version.immutable_manager => Answer::Kept,
        (_, Some(version)) => Answer::Unknown(Reason::from(format!(
            "the schema of {} allows a change of spec.clusterManager, and no dry run showed whether a webhook rejects it",
            version.name
        ))),
        (_, None) => Answer::Unknown(Reason::from(
            "no dry run showed whether the hub rejects a change, and the CRD was not read",
        )),
    };
    vec![answer]
}

fn accepts_another_manager(probe: &Probe) -> Finding {
    let message = match probe.method {
        ProbeMethod::MergePatch => "hub accepts a change of the manager (dry run of a merge patch)",
        ProbeMethod::Update => "hub accepts a change of the manager (dry run of an update)",
    };
    Finding::on(probe.object.clone(), message)
        .at(MANAGER_PATH)
        .expected("refused by the hub")
        .observed("accepted by the hub")
}

/// Whether the hub refused the change because the manager is immutable, and not because of a label or a value.
fn refuses_the_change(probe: &Probe) -> bool {
    let ProbeOutcome::Refused { message, fields, .. } = &probe.outcome else {
        return false;
    };
    let message = message.to_ascii_lowercase();
    let is_immutable = message.contains("clustermanager") && message.contains("immutable");
    is_immutable || *fields == [MANAGER_PATH]
}

/// The version of the CRD that the run read profiles in.
fn served_version<'e>(hub: &Hub<'e>) -> Option<&'e ServedVersion> {
    let header = &hub.evidence.header.hub;
    let version = header.api_version.as_deref()?.rsplit('/').next()?;
    header.served.iter().find(|served| served.name == version)
}
