//! Objects out of JSON, each still unread: no tree of a whole list is ever built.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    DumpError,
    item::{Body, Item, Place, Sink, Types},
    text::without_place,
};

/// Hands over the objects of a JSON value, or of several behind one another.
///
/// # Errors
/// When it cannot be parsed or holds something that is no object, or the sink refuses.
pub(super) fn each_item(place: Place<'_>, sink: Sink<'_>) -> Result<(), DumpError> {
    let syntax = |error: serde_json::Error| DumpError::Syntax {
        file: place.file.to_owned(),
        line: place.line_at(0) + error.line().saturating_sub(1),
        language: "JSON",
        message: match error.is_eof() {
            true => "it ends in the middle: was the dump cut short?".to_owned(),
            false => without_place(&error.to_string()).to_owned(),
        },
    };
    for raw in serde_json::Deserializer::from_str(place.document()).into_iter::<&RawValue>() {
        let raw = raw.map_err(syntax)?;
        let items = match raw.get().as_bytes()[0] {
            b'[' => Some((Types::default(), serde_json::from_str(raw.get()).map_err(syntax)?)),
            _ => list(raw),
        };
        match items {
            Some((types, items)) => each_of_list(items, &types.of_items(), place, sink)?,
            None => sink(item(raw, &Types::default(), place)?)?,
        }
    }
    Ok(())
}

fn each_of_list<'a>(
    items: Vec<&'a RawValue>,
    types: &Types<'a>,
    place: Place<'a>,
    sink: Sink<'_>,
) -> Result<(), DumpError> {
    items
        .into_iter()
        .try_for_each(|raw| sink(item(raw, types, place)?))
}

/// The type and the items of a list; none when this is no list.
fn list(raw: &RawValue) -> Option<(Types<'_>, Vec<&RawValue>)> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct List<'a> {
        #[serde(borrow)]
        api_version: Option<Cow<'a, str>>,
        #[serde(borrow)]
        kind: Option<Cow<'a, str>>,
        #[serde(borrow)]
        items: Option<Vec<&'a RawValue>>,
    }
    let list: List<'_> = serde_json::from_str(raw.get()).ok()?;
    let types = Types {
        api_version: list.api_version.unwrap_or_default(),
        kind: list.kind.unwrap_or_default(),
    };
    let items = list.items?;
    types.is_list().then_some((types, items))
}

fn item<'a>(raw: &'a RawValue, inherited: &Types<'a>, place: Place<'a>) -> Result<Item<'a>, DumpError> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Head<'a> {
        #[serde(borrow)]
        api_version: Option<Cow<'a, str>>,
        #[serde(borrow)]
        kind: Option<Cow<'a, str>>,
    }
    let place = place.of(raw.get());
    if !raw.get().starts_with('{') {
        return Err(place.no_object());
    }
    let types = match serde_json::from_str::<Head<'_>>(raw.get()) {
        Ok(head) => Types {
            api_version: head.api_version.unwrap_or_default(),
            kind: head.kind.unwrap_or_default(),
        },
        // A repeated key, or a type that is no text.
        Err(_) => Types::of(&serde_json::from_str::<Value>(raw.get()).unwrap_or_default()),
    };
    Ok(Item {
        types: types.or(inherited),
        body: Body::Json(raw),
        place,
    })
}
