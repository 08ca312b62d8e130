//! The suite `identity`: the manager, the name, the member id, and the writers of a profile.

use std::sync::Arc;

use evidence::{Probe, ProbeMethod, ProbeOutcome, api::syntax::is_label_value};

use super::updates::served_version;
use crate::{
    engine::{Creator, ProgramFields, author::is_part_of, creators, names_of_other_managers, object_named},
    rules::prelude::*,
};

const NAME_PATH: &str = "spec.clusterManager.name";
const MANAGER_PATH: &str = "spec.clusterManager";
const MEMBER_ID_PATH: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";

/// A namespace and a member id in it.
type MemberKey = (Arc<str>, String);

/// `identity/manager-label-present`: the profile has the manager label. `identity/manager-label-from-creation`: so has its
/// first version.
pub(crate) fn has_manager_label(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = match profile.manager() {
        "" => "the name of the cluster manager",
        manager => manager,
    };
    Answer::broken_if(profile.label(LABEL_MANAGER).is_none(), || {
        Finding::at_field(label_path(LABEL_MANAGER), ABSENT).expected(expected)
    })
}

/// `identity/manager-label-matches`: the manager label equals `spec.clusterManager.name`.
pub(crate) fn manager_label_matches(profile: &ClusterProfile, _: &Hub) -> Answer {
    let manager = profile.manager();
    let Some(label) = profile.label(LABEL_MANAGER).filter(|_| is_usable(manager)) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(label != manager, || {
        Finding::at_field(label_path(LABEL_MANAGER), label).expected(manager)
    })
}

/// `identity/manager-name-usable`: the manager's name is a valid label value, so that the manager label can hold it.
pub(crate) fn manager_name_usable(profile: &ClusterProfile, _: &Hub) -> Answer {
    let manager = profile.spec.cluster_manager.as_ref();
    let name = manager.map_or(ABSENT, |manager| &manager.name);
    Answer::broken_if(!is_usable(profile.manager()), || {
        Finding::at_field(NAME_PATH, name)
    })
}

/// Whether a manager's name is non-empty and a valid label value.
fn is_usable(manager: &str) -> bool {
    !manager.is_empty() && is_label_value(manager)
}

/// `identity/manager-immutable`: `spec.clusterManager` never changes. The hub has to refuse
/// each client's change.
pub(crate) fn manager_name(profile: &ClusterProfile) -> Option<Value> {
    let manager = profile.spec.cluster_manager.as_ref()?;
    Some(Value::new(NAME_PATH, &*manager.name))
}

/// `identity/manager-immutable`: the hub refuses a dry run that changes the manager, or its CRD has the rule that makes
/// the manager immutable.
pub(crate) fn hub_refuses_another_manager(hub: &Hub) -> Vec<Answer> {
    let probes = hub.evidence.probes.iter();
    let accepted = probes
        .clone()
        .filter(|probe| probe.outcome == ProbeOutcome::Accepted);
    let answer = Answer::each(accepted, |probe| Answer::broken(accepts_another_manager(probe)));
    vec![match (answer, served_version(hub)) {
        (Answer::NotApplicable, _) if probes.clone().any(refuses_the_change) => Answer::Kept,
        (Answer::NotApplicable, Some(version)) if version.immutable_manager => Answer::Kept,
        (Answer::NotApplicable, Some(version)) => Answer::unknown(format!(
            "the schema of {} allows a change of spec.clusterManager, and no dry run showed whether a webhook rejects it",
            version.name
        )),
        (Answer::NotApplicable, None) => {
            Answer::unknown("no dry run showed whether the hub rejects a change, and the CRD was not read")
        }
        (answer, _) => answer,
    }]
}

fn accepts_another_manager(probe: &Probe) -> Finding {
    let how = match probe.method {
        ProbeMethod::MergePatch => "a merge patch",
        ProbeMethod::Update => "an update",
    };
    let message = format!("hub accepts a change of spec.clusterManager (dry run of {how})");
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

/// `identity/name-follows-guidance`: the name was generated from `metadata.generateName`, or begins with the manager's
/// name.
pub(crate) fn name_follows_guidance(profile: &ClusterProfile, _: &Hub) -> Answer {
    let (name, manager) = (&*profile.metadata.name, profile.manager());
    let prefix = profile.metadata.generate_name.as_deref().unwrap_or_default();
    let follows_manager = !manager.is_empty() && name.starts_with(manager);
    Answer::broken_if(!follows_manager && !is_generated(name, prefix), || {
        Finding::at_field("metadata.name", name).expected(match manager {
            "" => "a name generated from metadata.generateName".to_owned(),
            manager => format!("a name generated from metadata.generateName, or {manager}…"),
        })
    })
}

/// Whether the API server generated a name from a prefix. It cuts the prefix to 58 characters.
fn is_generated(name: &str, prefix: &str) -> bool {
    let start = prefix.get(..58).unwrap_or(prefix);
    let rest = name.strip_prefix(start).filter(|_| !prefix.is_empty());
    rest.is_some_and(|rest| !rest.is_empty())
}

/// `identity/member-id-non-empty`: the member id label, if present, is not empty.
pub(crate) fn member_id_non_empty(profile: &ClusterProfile, _: &Hub) -> Answer {
    let Some(id) = profile.label(LABEL_MEMBER_ID) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(id.is_empty(), || Finding::at_field(MEMBER_ID_PATH, ""))
}

/// `identity/member-id-set`: the profile has the member id label. `identity/member-id-from-creation`: so has its first
/// version.
pub(crate) fn has_member_id(profile: &ClusterProfile, _: &Hub) -> Answer {
    let is_absent = profile.label(LABEL_MEMBER_ID).is_none();
    Answer::broken_if(is_absent, || Finding::at_field(MEMBER_ID_PATH, ABSENT))
}

/// `identity/member-id-stable`: a profile's member id never changes. Its temporary absence is not a change.
pub(crate) fn member_id(profile: &ClusterProfile) -> Option<Value> {
    let id = profile.label(LABEL_MEMBER_ID).filter(|id| !id.is_empty())?;
    Some(Value::new(MEMBER_ID_PATH, id))
}

pub(crate) fn same_member_id(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.label(LABEL_MEMBER_ID) == other.label(LABEL_MEMBER_ID)
}

/// The keys of `identity/member-id-unique` and `identity/member-id-no-tie`.
pub(crate) fn member_key(profile: &ClusterProfile, _: &Hub) -> Vec<MemberKey> {
    let id = profile.label(LABEL_MEMBER_ID).filter(|id| !id.is_empty());
    let key = id.map(|id| (Arc::clone(&profile.metadata.namespace), id.to_owned()));
    key.into_iter().collect()
}

/// `identity/member-id-unique`: no two profiles of a namespace have the same member id, even from different managers.
pub(crate) fn member_id_unique((_, id): &MemberKey, profiles: &[&ClusterProfile], _: &Hub) -> Answer {
    let [first, others @ ..] = profiles else {
        return Answer::Kept;
    };
    Answer::all(others.iter().map(|profile| {
        let observed = format!("{id}, as has {}", ObjectRef::from(*first));
        Finding::at_field_of(*profile, MEMBER_ID_PATH, observed)
    }))
}

/// `identity/member-id-no-tie`: of the profiles of a namespace with one member id, exactly one is the oldest. Consumers
/// ignore the younger ones.
pub(crate) fn member_id_no_tie((_, id): &MemberKey, profiles: &[&ClusterProfile], _: &Hub) -> Answer {
    if let Some(undated) = profiles.iter().find(|profile| creation(profile).is_none()) {
        let object = ObjectRef::from(*undated);
        return Answer::unknown(format!(
            "{object} has no creationTimestamp, and another profile has its member id"
        ));
    }
    let earliest = profiles.iter().filter_map(|profile| creation(profile)).min();
    let mut oldest = profiles.iter().filter(|profile| creation(profile) == earliest);
    let Some(first) = oldest.next() else {
        return Answer::Kept;
    };
    Answer::all(oldest.map(|profile| {
        let created = profile.metadata.creation_timestamp.as_deref().unwrap_or_default();
        let observed = format!("{created}, as has {}", ObjectRef::from(*first));
        let finding = Finding::at_field_of(*profile, "metadata.creationTimestamp", observed);
        finding.expected(format!("one oldest profile with {MEMBER_ID_PATH} {id}"))
    }))
}

fn creation(profile: &ClusterProfile) -> Option<Timestamp> {
    parse_time(profile.metadata.creation_timestamp.as_deref()?)
}

/// `identity/manager-unique`: all profiles with one manager name have one creator, or creators that were all
/// configured.
pub(crate) fn manager_unique(hub: &Hub) -> Vec<Answer> {
    let creators = creators(hub);
    if creators.is_empty() && !hub.profiles().is_empty() {
        let unknown = "neither the audit log nor managedFields show which client created a profile";
        return vec![Answer::unknown(unknown)];
    }
    let answers = creators.iter();
    let answers = answers.map(|(manager, creators)| has_one_creator(manager, creators, hub));
    answers.collect()
}

fn has_one_creator(manager: &str, creators: &[Creator], hub: &Hub) -> Answer {
    let is_own = |creator: &&Creator| creator.attribution.author == Author::Implementation;
    let (by_manager, rivals): (Vec<_>, Vec<_>) = creators.iter().partition(is_own);
    if creators.len() == 1 || rivals.is_empty() {
        return Answer::Kept;
    }
    let unknown = |creator: &&Creator| match &creator.attribution.author {
        Author::Unknown(reason) => Some(reason.clone()),
        _ => None,
    };
    if let Some(reason) = rivals.iter().find_map(unknown) {
        return Answer::Unknown(reason);
    }
    if by_manager.iter().any(|creator| creator.attribution.is_inferred) {
        return Answer::Unknown(hub.profile_authors().advice());
    }
    if by_manager.is_empty() {
        // The name of another manager.
        return Answer::NotApplicable;
    }
    let names: Vec<&str> = by_manager.iter().map(|creator| creator.name).collect();
    Answer::all(rivals.iter().map(|rival| {
        let object = rival.created_profile.clone().unwrap_or_default();
        let finding = Finding::at_field_of(object, NAME_PATH, format!("created by {}", rival.name));
        let finding = finding.expected(format!("{manager} created by {} alone", names.join(", ")));
        // A person or a backup creates profiles, too, but writes no status.
        finding.advisory_unless(rival.wrote_status)
    }))
}

/// `identity/one-manager-per-profile`: the implementation owns no field of the spec, labels, or status of another
/// manager's profile.
pub(crate) fn written_by_its_manager(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let authors = hub.profile_authors();
    if let Some(reason) = authors.why_no_field_manager() {
        return Answer::Unknown(reason);
    }
    match authors.owned_fields(&profile.metadata) {
        Some(mut owned) => {
            owned.retain(ProgramFields::is_of_implementation);
            Answer::each(owned, |owned| owns_no_field(profile, &owned)).or_kept()
        }
        None => Answer::unknown("managedFields do not show which client wrote the profile"),
    }
}

fn owns_no_field(profile: &ClusterProfile, owned: &ProgramFields) -> Answer {
    let mut fields = owned.entry.owns.iter().map(|field| &**field);
    let Some(field) = fields.clone().find(|field| is_managers_field(field)) else {
        return Answer::Kept;
    };
    if owned.attribution.is_inferred && fields.any(|field| field == "spec.clusterManager") {
        return Answer::unknown("one field manager sets the names of two cluster managers");
    }
    let message = "the field manager of another manager writes the profile";
    Answer::broken(
        Finding::at_path(field, message)
            .expected(format!("written for {} only", profile.manager()))
            .observed(format!("written by {}", owned.entry.manager)),
    )
}

/// Whether a field belongs to the manager of a profile. Annotations and finalizers are anyone's.
fn is_managers_field(field: &str) -> bool {
    let mut sections = ["spec", "metadata.labels", "status"].iter();
    sections.any(|section| is_part_of(field, section))
}

/// `identity/one-manager-per-profile`: by the audit log, the implementation changes and deletes no profile of another
/// manager. A sender may be the implementation if its configured name is misspelt.
pub(crate) fn no_request_for_others(hub: &Hub) -> Vec<Answer> {
    let Some(log) = &hub.evidence.requests else {
        return Vec::new();
    };
    let names = names_of_other_managers(hub);
    let authors = hub.profile_authors();
    let writes = log.events.iter().filter(|request| {
        request.is_write() && is_managers_write(request) && names.contains(&request.namespace_and_name())
    });
    let is_misspelt = authors.why_misspelt().is_some();
    let answers = writes.filter_map(|request| match authors.of_request(request).author {
        Author::Implementation => Some(Answer::broken(request_finding(request))),
        Author::Unknown(reason) if is_misspelt => Some(Answer::Unknown(reason)),
        _ => None,
    });
    answers.collect()
}

/// Whether a write changes or deletes what belongs to the manager of a profile.
fn is_managers_write(request: &Request) -> bool {
    let mut parts = request.body.iter().flat_map(|body| &body.parts);
    match &*request.verb {
        "delete" => true,
        _ if request.changed == Some(false) => false,
        _ => request.is_status_write() || parts.any(|part| is_managers_field(part)),
    }
}

fn request_finding(request: &Request) -> Finding {
    let (action, path) = match (&*request.verb, &*request.subresource) {
        ("delete", _) => ("deletes", "metadata.deletionTimestamp"),
        (_, "status") => ("changes", "status"),
        (_, _) => ("changes", "spec"),
    };
    let message = format!("the implementation {action} a profile of another manager");
    Finding::on(object_named(KIND, request.namespace_and_name()), message)
        .at(path)
        .expected("written by its own manager only")
        .observed(format!("{} at {}", request.verb, request.at))
}
