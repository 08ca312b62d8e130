//! Cuts the JSON of a list into its items while it arrives, so that it is never whole in memory. It only matches
//! brackets: serde_json finds all other flaws, in the items and in the rest.

use evidence::LARGEST_OBJECT;
use serde::Deserialize;

/// How far the reading of a list has come. Feed it the body piece by piece.
#[derive(Default)]
pub(crate) struct Splitter {
    /// The list with `null` in place of each item.
    frame: Vec<u8>,
    /// The beginning of an item that goes on in the next piece.
    item: Vec<u8>,
    /// The number of items so far.
    count: usize,
    /// Open brackets and braces.
    depth: usize,
    in_items: bool,
    in_item: bool,
    in_string: bool,
    is_escaped: bool,
}

const NO_LIST: &str = "what the hub answered is no list";

/// Between the items: in the list, and in its array.
const BETWEEN: usize = 2;

/// The head of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Frame {
    pub metadata: FrameMetadata,
    items: Items,
}

/// The number of items; `null` is an empty list, as some servers write it.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Option<Vec<()>>")]
struct Items(Option<usize>);

impl From<Option<Vec<()>>> for Items {
    fn from(items: Option<Vec<()>>) -> Self {
        Self(Some(items.map_or(0, |items| items.len())))
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

impl Splitter {
    /// Takes the next piece of the body, and hands each item that it completes to `each`.
    ///
    /// # Errors
    /// When it cannot be a list.
    pub fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), &'static str> {
        // Where the part of the piece begins that was not yet taken.
        let mut start = 0;
        for (at, byte) in piece.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' if self.in_items && self.depth == BETWEEN => {
                    self.frame.extend_from_slice(&piece[start..at]);
                    start = at;
                    self.in_item = true;
                    self.depth += 1;
                }
                b'{' | b'[' => {
                    self.in_items |=
                        *byte == b'[' && self.depth == 1 && self.is_key_of_items(&piece[start..at]);
                    self.depth += 1;
                }
                b'}' | b']' => {
                    self.depth = self.depth.checked_sub(1).ok_or(NO_LIST)?;
                    if self.in_item && self.depth == BETWEEN {
                        self.item.extend_from_slice(&piece[start..=at]);
                        self.check_size()?;
                        each(&self.item);
                        self.item.clear();
                        self.frame.extend_from_slice(b"null");
                        self.count += 1;
                        start = at + 1;
                        self.in_item = false;
                    }
                    self.in_items &= self.depth >= BETWEEN;
                }
                _ => {}
            }
        }
        let part = if self.in_item {
            &mut self.item
        } else {
            &mut self.frame
        };
        part.extend_from_slice(&piece[start..]);
        self.check_size()
    }

    fn check_size(&self) -> Result<(), &'static str> {
        if self.item.len().max(self.frame.len()) > LARGEST_OBJECT {
            return Err("a part of the list is too large to be one");
        }
        Ok(())
    }

    /// Returns `true` if the frame and what follows it end with the key `items`, so that its value comes next.
    fn is_key_of_items(&self, rest: &[u8]) -> bool {
        let mut before = self.frame.iter().chain(rest).rev();
        let mut next = || before.by_ref().find(|byte| !byte.is_ascii_whitespace());
        if next() != Some(&b':') || next() != Some(&b'"') {
            return false;
        }
        b"\"items".iter().rev().all(|byte| before.next() == Some(byte)) && before.next() != Some(&b'\\')
    }

    /// The head of the list, once the whole body was fed.
    ///
    /// # Errors
    /// When the body broke off or is no list.
    pub fn finish(self) -> Result<Frame, &'static str> {
        if self.depth > 0 {
            return Err("the list broke off");
        }
        match serde_json::from_slice::<Frame>(&self.frame) {
            Ok(frame) if frame.items.0 == Some(self.count) => Ok(frame),
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
            r#"{"items": [null]}"#,
            r#"{"items": [{}{}]}"#,
            r#"{"items": [{},]}"#,
            r#"{"items": [{}]} {}"#,
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
