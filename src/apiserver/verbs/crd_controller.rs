//! The work of kube-apiserver's CRD controllers: accepting names, establishing, serving. They work in the background;
//! here it happens with the write that causes it.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::{
    fields::managed_fields::{WriteRequest, track},
    object::{
        json::{take, text, texts},
        meta,
        status::join_complaints,
    },
    store::{
        definition,
        definition::{is_true, set_condition},
        resource::{ResourceId, id},
        route::{RequestTarget, Route},
        storage::{Storage, Stored},
    },
};

/// The resource of CRDs.
pub(crate) fn definitions() -> ResourceId {
    id("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Accepts the free names of all CRDs in `group`, and serves the established ones.
pub(crate) fn settle(storage: &mut Storage, group: &Value, time: &str) {
    loop {
        let all = of_group(storage, group);
        let changed = all.iter().find_map(|definition| {
            let status = status(definition.object(), &accepted_names(&all), time);
            (status != definition.object()["status"]).then_some((definition, status))
        });
        let Some((definition, status)) = changed else {
            let objects = all.iter().map(|definition| definition.object());
            for definition in objects.filter(|definition| is_true(definition, "Established")) {
                if let Ok(resource) = definition::read_accepted(definition) {
                    storage.serve(resource);
                }
            }
            return;
        };
        put_status(storage, definition.object(), status, time);
    }
}

/// Writes the status of a CRD as kube-apiserver's manager.
pub(crate) fn put_status(storage: &mut Storage, definition: &Value, status: Value, time: &str) {
    let Some(table) = storage.table(&definitions()) else {
        return;
    };
    let mut object = definition.clone();
    object["status"] = status;
    let target = RequestTarget {
        subresource: "status".to_owned(),
        ..RequestTarget::default()
    };
    let route = Route::only(table.resource.clone(), &target.into());
    let write = WriteRequest::new(&route, "kube-apiserver", time);
    track(Some(definition), &mut object, &write);
    storage.put(&definitions(), meta::text(definition, "name"), object);
}

fn of_group(storage: &Storage, group: &Value) -> Vec<Arc<Stored>> {
    let table = storage.table(&definitions());
    let all = table.into_iter().flat_map(|table| table.list(""));
    all.map(|(_, definition)| definition.open())
        .filter(|definition| definition.object()["spec"]["group"] == *group)
        .collect()
}

/// The accepted names of CRDs: of resources, and of kinds.
type AcceptedNames<'a> = (BTreeSet<&'a str>, BTreeSet<&'a str>);

fn accepted_names(all: &[Arc<Stored>]) -> AcceptedNames<'_> {
    let (mut resources, mut kinds) = AcceptedNames::default();
    for definition in all {
        let names = &definition.object()["status"]["acceptedNames"];
        resources.extend(texts_in(names, "shortNames"));
        resources.extend(["plural", "singular"].map(|field| text(names, field)));
        kinds.extend(["kind", "listKind"].map(|field| text(names, field)));
    }
    (resources, kinds)
}

/// The text or the list of texts in a field.
fn texts_in<'a>(names: &'a Value, field: &str) -> Vec<&'a str> {
    match names[field].as_str() {
        Some(text) => vec![text],
        None => texts(names, field),
    }
}

/// The status of `definition`, given the accepted names.
pub(crate) fn status(definition: &Value, accepted_names: &AcceptedNames<'_>, time: &str) -> Value {
    let (spec_names, mut status) = (&definition["spec"]["names"], definition["status"].clone());
    if *spec_names == status["acceptedNames"] {
        return status;
    }
    let before = status["acceptedNames"].take();
    let mut names = spec_names.clone();
    let mut conflict: Option<(&str, String)> = None;
    for (field, reason, accepted_names) in [
        ("plural", "PluralConflict", &accepted_names.0),
        ("singular", "SingularConflict", &accepted_names.0),
        ("shortNames", "ShortNamesConflict", &accepted_names.0),
        ("kind", "KindConflict", &accepted_names.1),
        ("listKind", "ListKindConflict", &accepted_names.1),
    ] {
        let names_before = texts_in(&before, field);
        let refused = texts_in(spec_names, field).into_iter();
        let refused = refused.filter(|name| !names_before.contains(name) && accepted_names.contains(name));
        let message = join_complaints(refused.map(|name| format!("{name:?} is already in use")));
        if message.is_empty() {
            continue;
        }
        conflict = Some((reason, message));
        take(&mut names, field, &before);
    }
    status["acceptedNames"] = names;
    let (value, accepted) = match &conflict {
        Some((reason, message)) => ("False", (*reason, message.as_str())),
        None => ("True", ("NoConflicts", "no conflicts found")),
    };
    set_condition(&mut status, "NamesAccepted", value, accepted, time);
    if !is_true(definition, "Established") {
        let why = match conflict {
            Some(_) => ("NotAccepted", "not all names are accepted"),
            None => ("InitialNamesAccepted", "the initial names have been accepted"),
        };
        set_condition(&mut status, "Established", value, why, time);
    }
    status
}
