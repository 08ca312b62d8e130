//! Finds objects in JSON and leaves them unread, so that no tree of a whole list is ever built.

use std::{borrow::Cow, collections::HashMap};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    DumpError,
    item::{Body, Found, Item, Partial, Sink, Types},
    place::Place,
    text::without_place,
};
use crate::api::list::Text;

/// Hands over the object that a text holds, or those of a list. `deepest` bounds the nesting of lists.
///
/// # Errors
/// When it is not JSON, or a list in it repeats a key.
pub(super) fn each_item<'a>(
    place: Place<'a>,
    inherited: &Types<'a>,
    deepest: usize,
    sink: Sink<'_, 'a>,
) -> Result<(), DumpError> {
    let raw = serde_json::from_str(place.document()).map_err(|error| syntax(place, &error))?;
    each_of(raw, inherited, place, deepest, sink)
}

/// The type of a list of which only the text before its items is known; `None` if the rest could change it.
pub(super) fn opening(text: &str) -> Option<Types<'static>> {
    if text.trim_ascii_start().starts_with('[') {
        return Some(Types::default());
    }
    let closed = format!("{text}]}}");
    let head: Head<'_> = serde_json::from_str(&closed).ok()?;
    let types = head.types();
    (!types.is_incomplete()).then(|| types.into_owned())
}

/// The type of a list whose items were cut out; `None` if it is no list after all. Hands over that it is partial.
///
/// # Errors
/// When it is not JSON, or repeats a key.
pub(super) fn around<'a>(place: Place<'a>, sink: Sink<'_, 'a>) -> Result<Option<Types<'a>>, DumpError> {
    if place.document().trim_ascii_start().starts_with('[') {
        return Ok(Some(Types::default()));
    }
    let head: Head<'a> = serde_json::from_str(place.document()).map_err(|error| syntax(place, &error))?;
    let types = head.types();
    if !types.is_list() {
        sink(Found::Misfit(place.no_list()));
        return Ok(None);
    }
    sink_partial(&head, &types, place, sink);
    Ok(Some(types))
}

fn sink_partial<'a>(head: &Head<'a>, types: &Types<'a>, place: Place<'a>, sink: Sink<'_, 'a>) {
    let Some(metadata) = head.metadata else { return };
    let metadata = serde_json::from_str(metadata.get()).unwrap_or_default();
    if let Some(partial) = Partial::of(types, &metadata, place) {
        sink(Found::Partial(partial));
    }
}

fn syntax(place: Place<'_>, error: &serde_json::Error) -> DumpError {
    if error.is_eof() {
        return place.cut_short();
    }
    let offset = place.line_begins(error.line()) + error.column().saturating_sub(1);
    DumpError::syntax(place.at(offset), "JSON", without_place(&error.to_string()))
}

/// The parts that identify an object's type.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "even_null")]
    items: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Distinguishes `null` from absent.
fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Hands over an object, or those of a list. `deepest` bounds the nesting of lists.
fn each_of<'a>(
    raw: &'a RawValue,
    inherited: &Types<'a>,
    place: Place<'a>,
    deepest: usize,
    sink: Sink<'_, 'a>,
) -> Result<(), DumpError> {
    let place = place.of(raw.get());
    let Some(deepest) = deepest.checked_sub(1) else {
        sink(Found::Misfit(place.no_list()));
        return Ok(());
    };
    match raw.get().as_bytes()[0] {
        b'[' => return each_of_list(raw, &Types::default(), place, deepest, sink),
        b'{' => {}
        _ => {
            sink(Found::Item(Item {
                types: inherited.clone(),
                body: Body::NoObject,
                place,
            }));
            return Ok(());
        }
    }
    match serde_json::from_str::<Head<'_>>(raw.get()) {
        Ok(head) => {
            let types = head.types();
            let items = head.items.filter(|_| types.is_list());
            if items.is_some() {
                sink_partial(&head, &types, place, sink);
            }
            match items {
                Some(items) if items.get().starts_with('[') => {
                    let place = place.of(items.get());
                    return each_of_list(items, &types.of_items(), place, deepest, sink);
                }
                Some(items) if items.get() == "null" => {}
                _ if types.is_surely_list() => sink(Found::Misfit(place.no_list())),
                _ => sink(item(raw, types.or(inherited), place)),
            }
        }
        // A key is repeated. In a list, either `items` may hold objects.
        Err(error) => {
            let parts: HashMap<String, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
            let part = |key: &str| parts.get(key).copied();
            let head = Head {
                api_version: part("apiVersion"),
                kind: part("kind"),
                items: part("items"),
                metadata: None,
            };
            let types = head.types();
            if types.is_list() && head.items.is_some() {
                return Err(syntax(place, &error));
            }
            sink(item(raw, types.or(inherited), place));
        }
    }
    Ok(())
}

/// Hands over the objects of an array.
fn each_of_list<'a>(
    array: &'a RawValue,
    types: &Types<'a>,
    place: Place<'a>,
    deepest: usize,
    sink: Sink<'_, 'a>,
) -> Result<(), DumpError> {
    let items: Vec<&RawValue> = serde_json::from_str(array.get()).map_err(|error| syntax(place, &error))?;
    items
        .into_iter()
        .try_for_each(|raw| each_of(raw, types, place, deepest, sink))
}

fn item<'a>(raw: &'a RawValue, types: Types<'a>, place: Place<'a>) -> Found<'a> {
    Found::Item(Item {
        types,
        body: Body::Json(raw),
        place,
    })
}

impl<'a> Head<'a> {
    /// Its type; empty parts are not text.
    fn types(&self) -> Types<'a> {
        let text = |raw: Option<&'a RawValue>| -> Cow<'a, str> {
            let text = raw.and_then(|raw| serde_json::from_str::<Text<'a>>(raw.get()).ok());
            text.map(|text| text.0).unwrap_or_default()
        };
        Types {
            api_version: text(self.api_version),
            kind: text(self.kind),
        }
    }
}
