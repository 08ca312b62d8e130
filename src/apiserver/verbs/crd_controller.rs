//! What the controllers of a real server make of definitions: which names they get, whether they are established, and
//! what is served of them. Those work in their own time; here it is done with the write that gives cause to it.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::{
    fields::{managed_fields::track, write::Write},
    object::{
        meta,
        status::all_told,
        value::{take, text, texts},
    },
    store::{
        definition::{self, is_true, set_condition},
        named::{Named, Target},
        resource::{ResourceId, id},
        storage::{Storage, Stored},
    },
};

/// The resource of definitions.
pub(crate) fn definitions() -> ResourceId {
    id("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Accepts the names of the definitions in `group` as far as they are free, and serves what is established.
pub(crate) fn settle(storage: &mut Storage, group: &Value, time: &str) {
    loop {
        let all = of_group(storage, group);
        let changed = all.iter().find_map(|definition| {
            let status = status(definition.object(), &taken(&all), time);
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

/// Writes the status of a definition, as the real server's controllers do.
pub(crate) fn put_status(storage: &mut Storage, definition: &Value, status: Value, time: &str) {
    let Some(table) = storage.table(&definitions()) else {
        return;
    };
    let mut object = definition.clone();
    object["status"] = status;
    let target = Target {
        subresource: "status".to_owned(),
        ..Target::default()
    };
    let named = Named::only(table.resource.clone(), &target.into());
    let write = Write::new(&named, "kube-apiserver", time);
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

/// The accepted names of definitions: of resources, and of kinds.
type Taken<'a> = (BTreeSet<&'a str>, BTreeSet<&'a str>);

fn taken(all: &[Arc<Stored>]) -> Taken<'_> {
    let (mut resources, mut kinds) = Taken::default();
    for definition in all {
        let names = &definition.object()["status"]["acceptedNames"];
        resources.extend(told(names, "shortNames"));
        resources.extend(["plural", "singular"].map(|field| text(names, field)));
        kinds.extend(["kind", "listKind"].map(|field| text(names, field)));
    }
    (resources, kinds)
}

/// The text in a field, or those of the list there.
fn told<'a>(names: &'a Value, field: &str) -> Vec<&'a str> {
    match names[field].as_str() {
        Some(text) => vec![text],
        None => texts(names, field),
    }
}

/// The status of `definition`, once it is known which names are taken.
pub(crate) fn status(definition: &Value, taken: &Taken<'_>, time: &str) -> Value {
    let (wanted, mut status) = (&definition["spec"]["names"], definition["status"].clone());
    if *wanted == status["acceptedNames"] {
        return status;
    }
    let before = status["acceptedNames"].take();
    let mut names = wanted.clone();
    let mut conflict: Option<(&str, String)> = None;
    for (field, reason, taken) in [
        ("plural", "PluralConflict", &taken.0),
        ("singular", "SingularConflict", &taken.0),
        ("shortNames", "ShortNamesConflict", &taken.0),
        ("kind", "KindConflict", &taken.1),
        ("listKind", "ListKindConflict", &taken.1),
    ] {
        let own = told(&before, field);
        let refused = told(wanted, field).into_iter();
        let refused = refused.filter(|name| !own.contains(name) && taken.contains(name));
        let message = all_told(refused.map(|name| format!("{name:?} is already in use")));
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
