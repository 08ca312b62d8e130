//! Finds objects in a YAML document.

use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use super::{
    DumpError,
    item::{Body, Broken, CutOut, DEEPEST, Found, Item, Partial, Place, Sink, Types},
    lines,
    text::{ENDS_IN_THE_MIDDLE, options, without_place},
};
use crate::{
    api::names,
    lenient::{Untyped, identity},
};

/// Hands over the object of a YAML document, or those of a list. One that cannot be parsed keeps its identity, as far as
/// it is known.
pub(super) fn each_item<'a>(place: Place<'a>, sink: Sink<'_, 'a>) {
    match read(place) {
        Ok(value) => each_of(value, &Types::default(), place, DEEPEST, sink),
        Err(error) => sink(broken(place, &Types::default(), error)),
    }
}

/// Does the same for an item that was cut out of a list: a YAML list of one. `is_cut` says that it may be truncated.
pub(super) fn each_of_item<'a>(place: Place<'a>, inherited: &Types<'a>, is_cut: bool, sink: Sink<'_, 'a>) {
    match read(place) {
        Ok(_) if is_cut => sink(known_as(
            &lines::glean(place.document()),
            false,
            inherited,
            place,
            cut(place),
        )),
        Ok(Value::Array(items)) => items
            .into_iter()
            .for_each(|item| each_of(item, inherited, place, DEEPEST - 1, sink)),
        Ok(_) => sink(broken(place, inherited, place.no_object())),
        Err(error) => sink(broken(place, inherited, error)),
    }
}

/// The type of a list whose items were cut out. Hands over that it is partial.
///
/// # Errors
/// When it is no list after all.
pub(super) fn around<'a>(
    place: Place<'a>,
    cut: CutOut,
    sink: Sink<'_, 'a>,
) -> Result<Types<'static>, DumpError> {
    let value = read(place).map_err(|error| match error {
        DumpError::Syntax {
            file,
            line,
            language,
            message,
        } => DumpError::Syntax {
            line: cut.line(place, line + 1 - place.first_line),
            file,
            language,
            message,
        },
        other => other,
    })?;
    let types = Types::of(&value);
    if !types.is_list() || !matches!(value, Value::Null | Value::Object(_)) {
        return Err(place.no_list());
    }
    if let Some(partial) = Partial::of(&types, &value["metadata"], place) {
        sink(Found::Partial(partial));
    }
    Ok(types)
}

fn read(place: Place<'_>) -> Result<Value, DumpError> {
    if let Some(error) = place.spoilt() {
        return Err(error);
    }
    let parsed = serde_saphyr::from_str_with_options(place.document(), options(DuplicateKeyPolicy::Error));
    parsed.map_err(|error| {
        let line = error.location().map_or(1, |location| location.line().max(1));
        let message = match &error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("the key `{key}` is repeated")
            }
            serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "a key is repeated".to_owned(),
            other => bare(&other.to_string()),
        };
        DumpError::Syntax {
            file: place.file.to_owned(),
            line: place.line_at(0) + line as usize - 1,
            language: "YAML",
            message,
        }
    })
}

/// Hands over an object, or those of a list. `deepest` bounds the nesting of lists.
fn each_of<'a>(
    mut value: Value,
    inherited: &Types<'a>,
    place: Place<'a>,
    deepest: usize,
    sink: Sink<'_, 'a>,
) {
    let Some(deepest) = deepest.checked_sub(1) else {
        return sink(Found::Lost(place.no_list()));
    };
    let types = Types::of(&value);
    if types.is_list()
        && value.get("items").is_some()
        && let Some(partial) = Partial::of(&types, &value["metadata"], place)
    {
        sink(Found::Partial(partial));
    }
    let items = match &mut value {
        // An empty document.
        Value::Null if deepest == DEEPEST - 1 => return,
        Value::Array(items) => Some((Types::default(), std::mem::take(items))),
        Value::Object(object) if types.is_list() => match object.get_mut("items") {
            Some(Value::Array(items)) => {
                let mut items = std::mem::take(items);
                if types.is_cut()
                    && let Some(last) = items.pop()
                {
                    let last = known_as(&last, false, &Types::default(), place, cut(place));
                    items
                        .into_iter()
                        .for_each(|item| each_of(item, &Types::default(), place, deepest, sink));
                    return sink(last);
                }
                Some((types.of_items(), items))
            }
            Some(Value::Null) => return,
            _ if types.is_surely_list() => return sink(Found::Lost(place.no_list())),
            _ => None,
        },
        Value::Object(_) => None,
        _ => {
            return sink(Found::Item(Item {
                types: inherited.clone(),
                body: Body::Broken(Broken::unknown(place.no_object())),
                place,
            }));
        }
    };
    match items {
        Some((types, items)) => items
            .into_iter()
            .for_each(|item| each_of(item, &types, place, deepest, sink)),
        None => sink(Found::Item(Item {
            types: types.clone().or(inherited),
            body: Body::Value(value),
            place,
        })),
    }
}

/// Stands for a broken object, under its own identity if it has one.
fn broken<'a>(place: Place<'a>, inherited: &Types<'a>, why: DumpError) -> Found<'a> {
    // An object that only repeats a key is otherwise complete.
    let lenient = options(DuplicateKeyPolicy::FirstWins);
    let parsed = serde_saphyr::from_str_with_options::<Value>(place.document(), lenient);
    let known = match parsed {
        Ok(Value::Array(mut items)) if items.len() == 1 => items.pop(),
        Ok(value @ Value::Object(_)) => Some(value),
        _ => None,
    };
    match known {
        Some(value) => known_as(&value, place.spoilt().is_none(), inherited, place, why),
        None => known_as(&lines::glean(place.document()), false, inherited, place, why),
    }
}

/// Stands for a broken object of which `known` is known. `whole` says that this is all of it.
fn known_as<'a>(
    known: &Value,
    whole: bool,
    inherited: &Types<'a>,
    place: Place<'a>,
    why: DumpError,
) -> Found<'a> {
    let types = Types::of(known);
    if (types.is_list() && known.get("items").is_some()) || types.is_surely_list() {
        return Found::Lost(why);
    }
    let labels = &known["metadata"]["labels"];
    Found::Item(Item {
        types: types.or(inherited),
        body: Body::Broken(Box::new(Broken {
            object: identity(Untyped::Value(known), ""),
            labelled: whole.then(|| labels.get(names::LABEL_SECRET_PROFILE).is_some()),
            why,
        })),
        place,
    })
}

/// The error for a truncated list: kubectl writes the kind last.
fn cut(place: Place<'_>) -> DumpError {
    DumpError::Syntax {
        file: place.file.to_owned(),
        line: place.line_at(place.document().trim_end().len()),
        language: "YAML",
        message: ENDS_IN_THE_MIDDLE.to_owned(),
    }
}

/// Removes quotes of the file, which may be secrets, and the place, which is reported separately.
fn bare(message: &str) -> String {
    let message = without_place(message);
    let mut parts = message.split(['"', '`']);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    while let (Some(_quoted), rest) = (parts.next(), parts.next()) {
        kept.push('…');
        kept.push_str(rest.unwrap_or_default());
    }
    kept
}
