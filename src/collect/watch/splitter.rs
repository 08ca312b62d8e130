//! Reads a list item by item while it arrives.

use evidence::{
    LARGEST_OBJECT,
    json_list::{CutError, ListCutter, Part},
};
use serde::Deserialize;

/// How far the reading of a list has come. Feed it the body piece by piece.
pub(crate) struct Splitter(ListCutter);

const NO_LIST: &str = "what the hub answered is no list";

/// The head of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Frame {
    pub metadata: FrameMetadata,
    items: Items,
}

/// Whether there are items, or `null` in their place: some servers write an empty list so.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Option<Vec<()>>")]
struct Items(bool);

impl From<Option<Vec<()>>> for Items {
    fn from(_: Option<Vec<()>>) -> Self {
        Self(true)
    }
}

/// The metadata of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FrameMetadata {
    pub resource_version: String,
    /// From where the list goes on; empty at its end.
    #[serde(rename = "continue")]
    pub rest: String,
    /// How many items the rest has, where the server tells.
    pub remaining_item_count: Option<u64>,
}

impl Default for Splitter {
    fn default() -> Self {
        Self(ListCutter::new(LARGEST_OBJECT))
    }
}

impl Splitter {
    /// Takes the next piece of the body, and hands each item that it completes to `each`.
    ///
    /// # Errors
    /// When it cannot be a list.
    pub fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), &'static str> {
        let mut is_list = true;
        let fed = self.0.feed(piece, |part, _| match part {
            Part::Item(item) if item.starts_with(b"{") => each(item),
            Part::Item(_) => is_list = false,
            Part::Opening(_) => {}
        });
        match fed {
            Ok(taken) if is_list && piece[taken..].trim_ascii().is_empty() => Ok(()),
            Ok(_) => Err(NO_LIST),
            Err(CutError::Syntax(_)) => Err("what the hub answered is no JSON"),
            Err(CutError::TooLarge) => Err("a part of the list is too large to be one"),
        }
    }

    /// The head of the list, once the whole body was fed.
    ///
    /// # Errors
    /// When the body broke off or is no list.
    pub fn finish(self) -> Result<Frame, &'static str> {
        let frame = self.0.frame().ok_or("the list broke off")?;
        match serde_json::from_slice::<Frame>(frame) {
            Ok(frame) if frame.items.0 => Ok(frame),
            _ => Err(NO_LIST),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn split(text: &str, size: usize) -> Result<(Vec<Value>, Frame), &'static str> {
        let (mut splitter, mut items) = (Splitter::default(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            splitter.feed(piece, |item| {
                items.push(serde_json::from_slice(item).expect("an item"))
            })?;
        }
        splitter.finish().map(|frame| (items, frame))
    }

    #[test]
    fn finds_the_items_however_the_body_is_cut() {
        let items = [
            json!({"a": "}]\"\\", "items": [1, {"b": ","}], "é": "\u{1F600}\\\""}),
            json!({}),
            json!({"metadata": {"items": [{"x": []}]}}),
        ];
        let before =
            json!({"kind": "L", "metadata": {"resourceVersion": "7", "items": ["items"]}, "items": items});
        let pretty = serde_json::to_string_pretty(&before).expect("writes");
        let behind = format!(
            r#"{{"note": ["items"], "items" : {}, "metadata": {{"resourceVersion": "7"}}}}"#,
            json!(items)
        );
        for text in [before.to_string(), pretty, behind] {
            for size in 1..=text.len() {
                let (found, frame) = split(&text, size).expect("a list");
                assert_eq!(found, items, "cut into pieces of {size}: {text}");
                assert_eq!(frame.metadata.resource_version, "7");
            }
        }
    }

    #[test]
    fn refuses_what_is_no_whole_list() {
        let whole = r#"{"items": [{"a": 1}, {"b": 2}], "metadata": {}}"#;
        for end in 1..whole.len() {
            assert!(split(&whole[..end], 5).is_err(), "{}", &whole[..end]);
        }
        for text in [
            "",
            "{}",
            "[]",
            "}",
            r#"{"items": {}}"#,
            r#"{"items": [1]}"#,
            r#"{"items": ["a"]}"#,
            "<html>",
        ] {
            assert!(split(text, 3).is_err(), "{text}");
        }
        for empty in [r#"{"items": []}"#, r#"{"items": null, "kind": "L"}"#] {
            assert!(
                split(empty, 3).is_ok_and(|(items, _)| items.is_empty()),
                "{empty}"
            );
        }
    }
}
