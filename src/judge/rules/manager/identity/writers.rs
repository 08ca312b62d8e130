//! The clients that write profiles: one manager for each name, and one for each profile.

use evidence::{Reason, Request, api::ClusterProfile};

use crate::{
    engine::{Answer, Author, Creator, Hub, ProgramFields, creators, names_of_others, profile_of},
    subjects::Finding,
};

const NAME_PATH: &str = "spec.clusterManager.name";
const MANAGER_PATH: &str = "spec.clusterManager";

/// `identity/manager-unique`
///
/// All profiles with one manager name have one creator, or creators that were all configured.
pub(in crate::rules) fn manager_unique(hub: &Hub) -> Vec<Answer> {
    let creators = creators(hub);
    if creators.is_empty() && !hub.profiles().is_empty() {
        let unknown = "neither an audit log nor managedFields show who created a profile";
        return vec![Answer::Unknown(Reason::from(unknown))];
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
    let unknown = others
        .iter()
        .find_map(|creator| match &creator.attribution.author {
            Author::Unknown(reason) => Some(reason),
            _ => None,
        });
    if let Some(reason) = unknown {
        return Answer::Unknown(reason.clone());
    }
    if own.iter().any(|creator| creator.attribution.is_inferred) {
        return Answer::Unknown(hub.profile_authors().advice());
    }
    if own.is_empty() {
        // The name of another manager.
        return Answer::NotApplicable;
    }
    let own: Vec<&str> = own.iter().map(|creator| creator.name).collect();
    Answer::all(others.iter().map(|other| {
        let finding = Finding::on(
            other.created.clone().unwrap_or_default(),
            "two users create profiles under one manager name",
        )
        .at(NAME_PATH)
        .expected(format!("{manager} created by {} alone", own.join(", ")))
        .observed(format!("created by {}", other.name));
        // A person or a backup creates profiles, too, but writes no status.
        if other.wrote_status {
            finding
        } else {
            finding.advisory()
        }
    }))
}

/// `identity/one-manager-per-profile`
///
/// The implementation owns no field of the spec, labels, or status of another manager's profile.
pub(in crate::rules) fn written_by_its_manager(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let authors = hub.profile_authors();
    if let Some(reason) = authors.why_no_field_manager() {
        return Answer::Unknown(reason);
    }
    match authors.owned_fields(&profile.metadata) {
        Some(mut owned) => {
            owned.retain(ProgramFields::is_of_implementation);
            Answer::each(owned, |owned| owns_no_field(profile, &owned)).or_kept()
        }
        None => Answer::Unknown(Reason::from(
            "managedFields do not show which client wrote the profile",
        )),
    }
}

fn owns_no_field(profile: &ClusterProfile, owned: &ProgramFields) -> Answer {
    let mut fields = owned.entry.owns.iter().map(|field| &**field);
    let Some(field) = fields.clone().find(|field| is_managers_field(field)) else {
        return Answer::Kept;
    };
    if owned.attribution.is_inferred && fields.any(|field| field == MANAGER_PATH) {
        return Answer::Unknown(Reason::from(
            "one field manager sets the names of two cluster managers",
        ));
    }
    Answer::broken(
        Finding::at_path(
            field,
            "profile is written by the field manager of another manager",
        )
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

/// `identity/one-manager-per-profile`
///
/// By the audit log, the implementation changes and deletes no profile of another manager. A sender may be the
/// implementation if its configured name is misspelt.
pub(in crate::rules) fn no_request_for_others(hub: &Hub) -> Vec<Answer> {
    let Some(requests) = &hub.evidence.requests else {
        return Vec::new();
    };
    let others = names_of_others(hub);
    let authors = hub.profile_authors();
    let writes = requests.events.iter().filter(|request| {
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
    let parts = request.body.iter().flat_map(|body| &body.parts);
    match &*request.verb {
        "delete" => true,
        _ if request.changed == Some(false) => false,
        _ => request.is_status_write() || parts.into_iter().any(|part| is_managers_field(part)),
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
