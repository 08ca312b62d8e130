//! What the controllers of a real server make of definitions: which names they get, whether they are established, and
//! what is served of them. Those work in their own time; here it is done with the write that gives cause to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::context::Named;
use super::definition;
use super::managed_fields::{Writer, track};
use super::meta;
use super::storage::{ResourceId, Storage, Stored};

/// The resource of definitions.
pub(super) fn definitions() -> ResourceId {
    (
        "apiextensions.k8s.io".to_owned(),
        "customresourcedefinitions".to_owned(),
    )
}

/// Accepts the names of the definitions in `group` as far as they are free, and serves what is established.
pub(super) fn settle(storage: &mut Storage, group: &Value, time: &str) {
    loop {
        let all = of_group(storage, group);
        let changed = all.iter().find_map(|definition| {
            let status = status(definition.object(), &taken(&all), time);
            (status != definition.object()["status"]).then_some((definition, status))
        });
        let Some((definition, status)) = changed else {
            for definition in all
                .iter()
                .filter(|definition| is_true(definition.object(), "Established"))
            {
                if let Ok(resource) = definition::read_accepted(definition.object()) {
                    storage.serve(resource);
                }
            }
            return;
        };
        put_status(storage, definition.object(), status, time);
    }
}

/// Writes the status of a definition, as the real server's controllers do.
pub(super) fn put_status(storage: &mut Storage, definition: &Value, status: Value, time: &str) {
    let id = definitions();
    let Some(table) = storage.table(&id.0, &id.1) else {
        return;
    };
    let mut object = definition.clone();
    object["status"] = status;
    let writer = Writer {
        manager: "kube-apiserver",
        named: &Named::only(table.resource.clone()),
        subresource: "status",
        time: time.to_owned(),
    };
    track(Some(definition), &mut object, &writer);
    storage.put(&id, meta::text(definition, "name"), object);
}

fn of_group(storage: &Storage, group: &Value) -> Vec<Arc<Stored>> {
    let id = definitions();
    let table = storage.table(&id.0, &id.1);
    let all = table.into_iter().flat_map(|table| table.list(""));
    all.map(|(_, definition)| definition.open())
        .filter(|definition| definition.object()["spec"]["group"] == *group)
        .collect()
}

/// The accepted names of definitions: of resources, and of kinds.
type Taken<'a> = (BTreeSet<&'a str>, BTreeSet<&'a str>);

fn taken(all: &[Arc<Stored>]) -> Taken<'_> {
    let names = || {
        all.iter()
            .map(|definition| &definition.object()["status"]["acceptedNames"])
    };
    let resources = names().flat_map(|names| {
        let short = names["shortNames"].as_array().into_iter().flatten();
        short.chain([&names["plural"], &names["singular"]])
    });
    let kinds = names().flat_map(|names| [&names["kind"], &names["listKind"]]);
    (
        resources.filter_map(Value::as_str).collect(),
        kinds.filter_map(Value::as_str).collect(),
    )
}

/// The status of `definition`, once it is known which names are taken.
pub(super) fn status(definition: &Value, taken: &Taken<'_>, time: &str) -> Value {
    let (wanted, mut status) = (&definition["spec"]["names"], definition["status"].clone());
    if *wanted == status["acceptedNames"] {
        return status;
    }
    let mut names = status["acceptedNames"].clone();
    let mut conflict: Option<(&str, String)> = None;
    let in_use = |name: &str| format!("{name:?} is already in use");
    for (field, reason, taken) in [
        ("plural", "PluralConflict", &taken.0),
        ("singular", "SingularConflict", &taken.0),
        ("shortNames", "ShortNamesConflict", &taken.0),
        ("kind", "KindConflict", &taken.1),
        ("listKind", "ListKindConflict", &taken.1),
    ] {
        let texts = |value: &Value| -> Vec<String> {
            let list = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let own = texts(&names[field]);
        let mut refused = texts(&wanted[field]);
        refused.retain(|name| !own.contains(name) && taken.contains(name.as_str()));
        match refused.as_slice() {
            [] => match wanted.get(field) {
                Some(value) => names[field] = value.clone(),
                None => drop(names.as_object_mut().and_then(|names| names.remove(field))),
            },
            [name] => conflict = Some((reason, in_use(name))),
            names => {
                let all: Vec<String> = names.iter().map(|name| in_use(name)).collect();
                conflict = Some((reason, format!("[{}]", all.join(", "))));
            }
        }
    }
    if let Some(categories) = wanted.get("categories") {
        names["categories"] = categories.clone();
    }
    status["acceptedNames"] = names;
    let established = is_true(definition, "Established");
    match conflict {
        Some((reason, message)) => {
            set_condition(&mut status, "NamesAccepted", "False", (reason, &message), time);
            if !established {
                let why = ("NotAccepted", "not all names are accepted");
                set_condition(&mut status, "Established", "False", why, time);
            }
        }
        None => {
            let why = ("NoConflicts", "no conflicts found");
            set_condition(&mut status, "NamesAccepted", "True", why, time);
            if !established {
                let why = ("InitialNamesAccepted", "the initial names have been accepted");
                set_condition(&mut status, "Established", "True", why, time);
            }
        }
    }
    status
}

/// Whether a definition has this condition.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// Sets a condition in a status. Its time is that of the last change of its value.
pub(super) fn set_condition(
    status: &mut Value,
    kind: &str,
    value: &str,
    (reason, message): (&str, &str),
    time: &str,
) {
    let mut condition = json!({
        "type": kind, "status": value, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|known| known["type"] == kind) {
        Some(known) => {
            if known["status"] == value {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}
