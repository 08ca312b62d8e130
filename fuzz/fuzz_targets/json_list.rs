//! A list that is cut into its items, however it arrives: beside serde_json, which reads it as a whole. The first byte
//! is the size of the pieces.
#![no_main]

use evidence::json_list::{ListCutter, Part, Position};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let [size, text @ ..] = data else { return };
    let found = cut(text, usize::from(*size).max(1));
    assert_eq!(found, cut(text, text.len().max(1)), "however it is cut");
    match (found, serde_json::from_slice::<Value>(text)) {
        (Some((items, mut frame)), Ok(whole)) => {
            if frame.is_array() {
                frame = Value::Array(items);
            } else if !items.is_empty() {
                // Of a key that is repeated, serde_json takes the last value.
                if text.windows(5).filter(|word| *word == b"items").count() > 1 {
                    return;
                }
                frame["items"] = Value::Array(items);
            }
            assert_eq!(frame, whole);
        }
        // It nests deeper than serde_json reads: its items do not.
        (Some(_), Err(error)) => assert!(error.to_string().contains("recursion"), "no JSON: {error}"),
        (None, Ok(whole)) => assert!(!whole.is_object() && !whole.is_array(), "JSON was refused"),
        (None, Err(_)) => {}
    }
});

/// The items and the frame of a list that arrives in pieces of that size.
fn cut(text: &[u8], size: usize) -> Option<(Vec<Value>, Value)> {
    let mut cutter = ListCutter::new(1 << 20);
    let mut items = Vec::new();
    for piece in text.chunks(size) {
        let each = |part: Part<'_>, _: Position| {
            if let Part::Item(item) = part {
                items.push(serde_json::from_slice(item));
            }
        };
        let taken = cutter.feed(piece, each).ok()?;
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        if !piece[taken..].iter().all(is_space) {
            return None;
        }
    }
    let frame = serde_json::from_slice(cutter.frame()?).ok()?;
    let items: Result<Vec<Value>, _> = items.into_iter().collect();
    Some((items.ok()?, frame))
}
