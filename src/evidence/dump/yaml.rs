//! Objects out of a YAML document.

use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Options};

use super::{
    DumpError,
    item::{Body, Item, Place, Sink, Types},
    text::without_place,
};

/// Hands over the objects of a YAML document. `others`: whether it is one of several, so that not all is lost with it.
///
/// # Errors
/// When it cannot be parsed or holds something that is no object, or the sink refuses.
pub(super) fn each_item(place: Place<'_>, others: bool, sink: Sink<'_>) -> Result<(), DumpError> {
    let parsed = serde_saphyr::from_str_with_options(place.document(), options(DuplicateKeyPolicy::Error));
    let error = match parsed {
        Ok(value) => return each_of_value(value, place, sink),
        Err(error) => error,
    };
    let line = error
        .location()
        .map_or(0, |location| location.line().max(1) as usize - 1);
    let line = place.line_at(0) + line;
    let (message, repeated) = match &error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            (format!("the key `{key}` is repeated"), true)
        }
        serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => ("a key is repeated".to_owned(), true),
        other => (bare(&other.to_string()), false),
    };
    if repeated && others {
        // The document is whole, so it tells which object is the one that cannot be trusted.
        let lenient = options(DuplicateKeyPolicy::FirstWins);
        if let Ok(value) = serde_saphyr::from_str_with_options::<Value>(place.document(), lenient)
            && value.is_object()
            && value.get("items").is_none()
        {
            let types = Types::of(&value);
            let message = format!("{}:{line}: {message}", place.file);
            return sink(Item {
                types,
                body: Body::Broken(value, message),
                place,
            });
        }
    }
    Err(DumpError::Syntax {
        file: place.file.to_owned(),
        line,
        language: "YAML",
        message,
    })
}

fn each_of_value(mut value: Value, place: Place<'_>, sink: Sink<'_>) -> Result<(), DumpError> {
    let types = Types::of(&value);
    let (inherited, items) = match &mut value {
        Value::Null => return Ok(()),
        Value::Array(items) => (Types::default(), std::mem::take(items)),
        Value::Object(object) if types.is_list() => match object.get_mut("items") {
            Some(Value::Array(items)) => (types.of_items(), std::mem::take(items)),
            _ => (Types::default(), vec![value]),
        },
        _ => (Types::default(), vec![value]),
    };
    for value in items {
        if !value.is_object() {
            return Err(place.no_object());
        }
        sink(Item {
            types: Types::of(&value).or(&inherited),
            body: Body::Value(value),
            place,
        })?;
    }
    Ok(())
}

/// YAML as kubectl means it: `yes` and `on` are text. The bounds on size are those of the file, which is the user's
/// own; depth and aliases stay bounded.
pub(super) fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        // A snippet would show values, which may be secret.
        with_snippet: false,
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
    }
}

/// A message without what it quotes of the file, which may be secret, and without its place, which is told otherwise.
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
