//! The clients that write profiles: one manager for each name, and one for each profile.

use evidence::Request;

use crate::{
    engine::{Author, Creator, ProgramFields, creators, names_of_others, profile_of},
    rules::prelude::*,
};

/// `identity/manager-unique`: all profiles with one manager name have one creator, or creators that were all
/// configured.
pub(crate) fn manager_unique(hub: &Hub) -> Vec<Answer> {
    let creators = creators(hub);
    if creators.is_empty() && !hub.profiles().is_empty() {
        let unknown = "neither an audit log nor managedFields show who created a profile";
        return vec![Answer::unknown(unknown)];
    }
    let managers = creators.iter();
    managers
        .map(|(manager, creators)| has_one_creator(manager, creators, hub))
        .collect()
}

fn has_one_creator(manager: &str, creators: &[Creator], hub: &Hub) -> Answer {
    let is_own = |creator: &&Creator| creator.attribution.author == Author::Implementation;
    let (own, others): (Vec<_>, Vec<_>) = creators.iter().partition(is_own);
    if creators.len() == 1 || others.is_empty() {
        return Answer::Kept;
    }
    let unknown = |creator: &&Creator| match &creator.attribution.author {
        Author::Unknown(reason) => Some(reason.clone()),
        _ => None,
    };
    if let Some(reason) = others.iter().find_map(unknown) {
        return Answer::Unknown(reason);
    }
    if own.iter().any(|creator| creator.attribution.is_inferred) {
        return Answer::Unknown(hub.profile_authors().advice());
    }
    if own.is_empty() {
        // The name of another manager.
        return Answer::NotApplicable;
    }
    let own: Vec<&str> = own.iter().map(|creator| creator.name).collect();
    let message = "two users create profiles under one manager name";
    Answer::all(others.iter().map(|other| {
        Finding::on(other.created.clone().unwrap_or_default(), message)
            .at("spec.clusterManager.name")
            .expected(format!("{manager} created by {} alone", own.join(", ")))
            .observed(format!("created by {}", other.name))
            // A person or a backup creates profiles, too, but writes no status.
            .advisory_unless(other.wrote_status)
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
    let message = "profile is written by the field manager of another manager";
    Answer::broken(
        Finding::at_path(field, message)
            .expected(format!("written for {} only", profile.manager()))
            .observed(format!("written by {}", owned.entry.manager)),
    )
}

/// Whether a field belongs to the manager of a profile. Annotations and finalizers are anyone's.
fn is_managers_field(field: &str) -> bool {
    ["spec", "metadata.labels", "status"].iter().any(|section| {
        let rest = field.strip_prefix(section);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

/// `identity/one-manager-per-profile`: by the audit log, the implementation changes and deletes no profile of another
/// manager. A sender may be the implementation if its configured name is misspelt.
pub(crate) fn no_request_for_others(hub: &Hub) -> Vec<Answer> {
    let others = names_of_others(hub);
    let authors = hub.profile_authors();
    let requests = hub.evidence.requests.iter().flat_map(|log| &log.events);
    let writes = requests.filter(|request| {
        request.is_write() && is_managers_write(request) && others.contains(&request.namespace_and_name())
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
    Finding::on(profile_of(request), message)
        .at(path)
        .expected("written by its own manager only")
        .observed(format!("{} at {}", request.verb, request.at))
}
