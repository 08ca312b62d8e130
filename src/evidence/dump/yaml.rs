//! Finds objects in a YAML document.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    DumpError,
    item::{Body, DEEPEST, Found, Item, Partial, Sink, Types},
    place::Place,
    text::{options, without_place},
};

/// Hands over the object of a YAML document, or those of a list.
///
/// # Errors
/// When it is not YAML, or a list in it ends in the middle.
pub(super) fn each_item<'a>(place: Place<'a>, sink: Sink<'_, 'a>) -> Result<(), DumpError> {
    let Some(value) = read_or_skip::<Value>(place, sink)? else {
        return Ok(());
    };
    if Types::of(&value).is_cut() && value.get("items").is_some() {
        return Err(place.cut_short());
    }
    each_of(value, &Types::default(), place, DEEPEST, sink);
    Ok(())
}

/// Does the same for an item that was cut out of a list: a YAML list of one.
///
/// # Errors
/// When it is not YAML.
pub(super) fn each_of_item<'a>(
    place: Place<'a>,
    inherited: &Types<'a>,
    sink: Sink<'_, 'a>,
) -> Result<(), DumpError> {
    let items: Option<Vec<Value>> = read_or_skip(place, sink)?;
    items
        .into_iter()
        .flatten()
        .for_each(|item| each_of(item, inherited, place, DEEPEST - 1, sink));
    Ok(())
}

/// The type of a list whose items were cut out; `None` if it is no list after all. Hands over that it is partial.
///
/// # Errors
/// When it is not YAML, or ends in the middle.
pub(super) fn around<'a>(place: Place<'a>, sink: Sink<'_, 'a>) -> Result<Option<Types<'static>>, DumpError> {
    let value: Value = read(place)?;
    let has_room = match &value {
        Value::Null => true,
        Value::Object(object) => object.get("items") == Some(&Value::Null),
        _ => false,
    };
    if !has_room {
        return Err(place.no_frame());
    }
    let types = Types::of(&value);
    // kubectl ends its output with a line break.
    if types.is_cut() || !types.is_list() && !place.document().ends_with('\n') {
        return Err(place.cut_short());
    }
    if !types.is_list() {
        sink(Found::Misfit(place.no_list()));
        return Ok(None);
    }
    if let Some(partial) = Partial::of(&types, &value["metadata"], place) {
        sink(Found::Partial(partial));
    }
    Ok(Some(types))
}

/// Hands over that a number in it cannot be read, if so.
fn read_or_skip<T: DeserializeOwned>(place: Place<'_>, sink: Sink<'_, '_>) -> Result<Option<T>, DumpError> {
    match read(place) {
        Err(why @ DumpError::Number(_)) => {
            sink(Found::Misfit(why));
            Ok(None)
        }
        read => read.map(Some),
    }
}

fn read<T: DeserializeOwned>(place: Place<'_>) -> Result<T, DumpError> {
    let document = place.document();
    serde_saphyr::from_str_with_options(document, options()).map_err(|error| {
        let offset = error.location().map_or(0, |location| {
            let line = place.line_begins(location.line() as usize);
            let mut characters = document[line..].char_indices();
            let column = characters.nth(location.column().saturating_sub(1) as usize);
            column.map_or(document.len(), |(column, _)| line + column)
        });
        let mut message = match &error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("the key `{key}` is repeated")
            }
            serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "a key is repeated".to_owned(),
            serde_saphyr::Error::NonFiniteFloat { .. } => return DumpError::Number(place.at(offset)),
            other => bare(&other.to_string()),
        };
        let is_unfinished = !document.ends_with('\n') && !document[offset..].contains('\n');
        if is_unfinished {
            message += " (it ends there: was kubectl interrupted?)";
        }
        DumpError::syntax(place.at(offset), "YAML", message)
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
        return sink(Found::Misfit(place.no_list()));
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
            Some(Value::Array(items)) => Some((types.of_items(), std::mem::take(items))),
            Some(Value::Null) => return,
            _ if types.is_surely_list() => return sink(Found::Misfit(place.no_list())),
            _ => None,
        },
        Value::Object(_) => None,
        _ => {
            return sink(Found::Item(Item {
                types: inherited.clone(),
                body: Body::NoObject,
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
