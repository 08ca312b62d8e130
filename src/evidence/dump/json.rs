//! Finds objects in JSON and leaves them unread, so that no tree of a whole list is ever built.

use std::{borrow::Cow, collections::HashMap};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    DumpError,
    item::{Body, Broken, CutOut, Found, Item, Partial, Place, Sink, Types},
    text::{ENDS_IN_THE_MIDDLE, without_place},
};
use crate::lenient::{Untyped, identity};

/// Hands over the object that a text holds, or those of a list. `deepest` bounds the nesting of lists.
pub(super) fn each_item<'a>(place: Place<'a>, inherited: &Types<'a>, deepest: usize, sink: Sink<'_, 'a>) {
    match serde_json::from_str::<&RawValue>(place.document()) {
        Ok(raw) => each_of(raw, inherited, place, deepest, sink),
        Err(error) => sink(Found::Lost(syntax(place, &error))),
    }
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

/// The type of a list whose items were cut out. Hands over that it is partial.
///
/// # Errors
/// When it is no list after all.
pub(super) fn around<'a>(place: Place<'a>, cut: CutOut, sink: Sink<'_, 'a>) -> Result<Types<'a>, DumpError> {
    if let Some(error) = place.spoilt() {
        return Err(error);
    }
    if place.document().trim_ascii_start().starts_with('[') {
        return Ok(Types::default());
    }
    let head: Head<'a> = serde_json::from_str(place.document())
        .map_err(|error| place.syntax(cut.line(place, error.line()), "JSON", message(&error)))?;
    let types = head.types();
    if !types.is_list() {
        return Err(place.no_list());
    }
    sink_partial(&head, &types, place, sink);
    Ok(types)
}

fn sink_partial<'a>(head: &Head<'a>, types: &Types<'a>, place: Place<'a>, sink: Sink<'_, 'a>) {
    let Some(metadata) = head.metadata else { return };
    let metadata = serde_json::from_str(metadata.get()).unwrap_or_default();
    if let Some(partial) = Partial::of(types, &metadata, place) {
        sink(Found::Partial(partial));
    }
}

fn syntax(place: Place<'_>, error: &serde_json::Error) -> DumpError {
    let line = place.line_at(0) + error.line().saturating_sub(1);
    place.syntax(line, "JSON", message(error))
}

fn message(error: &serde_json::Error) -> String {
    if error.is_eof() {
        ENDS_IN_THE_MIDDLE.to_owned()
    } else {
        without_place(&error.to_string()).to_owned()
    }
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
) {
    let place = place.of(raw.get());
    let Some(deepest) = deepest.checked_sub(1) else {
        return sink(Found::Lost(place.no_list()));
    };
    match raw.get().as_bytes()[0] {
        b'[' => each_of_list(raw, &Types::default(), place, place, deepest, sink),
        b'{' => match serde_json::from_str::<Head<'_>>(raw.get()) {
            Ok(head) => {
                let types = head.types();
                let items = head.items.filter(|_| types.is_list());
                if items.is_some() {
                    sink_partial(&head, &types, place, sink);
                }
                match items {
                    Some(items) if items.get().starts_with('[') => {
                        each_of_list(
                            items,
                            &types.of_items(),
                            place,
                            place.of(items.get()),
                            deepest,
                            sink,
                        );
                    }
                    Some(items) if items.get() == "null" => {}
                    _ if types.is_surely_list() => sink(Found::Lost(place.no_list())),
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
                    sink(Found::Lost(syntax(place, &error)));
                } else {
                    sink(item(raw, types.or(inherited), place));
                }
            }
        },
        _ => sink(no_object(inherited, place)),
    }
}

/// Hands over the objects of an array. `around` is its list, or the array itself.
fn each_of_list<'a>(
    array: &'a RawValue,
    types: &Types<'a>,
    around: Place<'a>,
    place: Place<'a>,
    deepest: usize,
    sink: Sink<'_, 'a>,
) {
    let items: Vec<&RawValue> = match serde_json::from_str(array.get()) {
        Ok(items) => items,
        Err(error) => return sink(Found::Lost(syntax(place, &error))),
    };
    let within: usize = items.iter().map(|raw| place.of(raw.get()).count_spoilt()).sum();
    if let Some(error) = around.spoilt().filter(|_| around.count_spoilt() > within) {
        sink(Found::Lost(error));
    }
    items
        .into_iter()
        .for_each(|raw| each_of(raw, types, place, deepest, sink));
}

fn item<'a>(raw: &'a RawValue, types: Types<'a>, place: Place<'a>) -> Found<'a> {
    let body = match place.spoilt() {
        None => Body::Json(raw),
        Some(why) => Body::Broken(Box::new(Broken {
            object: identity(Untyped::Text(raw.get().as_bytes()), ""),
            labelled: None,
            why,
        })),
    };
    Found::Item(Item { types, body, place })
}

/// Stands for something other than an object.
fn no_object<'a>(inherited: &Types<'a>, place: Place<'a>) -> Found<'a> {
    Found::Item(Item {
        types: inherited.clone(),
        body: Body::Broken(Broken::unknown(place.no_object())),
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

/// A text, borrowed if possible.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
