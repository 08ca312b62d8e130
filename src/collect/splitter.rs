//! Cuts the JSON of a list into its items while it arrives, so that it is never whole in memory.
//!
//! Each item comes out as text of its own: one that does not fit its type spoils none of the others, and serde reads
//! from a slice, which is several times faster than from a stream.

use serde::Deserialize;

/// How far the reading of a list has come. Feed it the body piece by piece.
#[derive(Default)]
pub(super) struct Splitter {
    /// What stands around the items; the list without them, in the end.
    frame: Vec<u8>,
    /// The beginning of an item that goes on in the next piece.
    item: Vec<u8>,
    /// Open brackets and braces.
    depth: usize,
    in_items: bool,
    in_string: bool,
    escaped: bool,
}

/// The largest frame: it has a few short fields.
const LARGEST_FRAME: usize = 1 << 20;
/// The largest item: etcd holds no object of more than a few megabytes.
const LARGEST_ITEM: usize = 64 << 20;
/// The depth between the items: within the list and its `items`.
const BETWEEN: usize = 2;

/// The head of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
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
pub(super) struct FrameMetadata {
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
        // Where what is not yet taken begins, and what is looked at.
        let (mut start, mut at) = (0, 0);
        while at < piece.len() {
            if self.in_string {
                at = self.string(piece, at);
                continue;
            }
            match piece[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    if self.in_items && self.depth == BETWEEN {
                        self.frame.extend_from_slice(&piece[start..at]);
                        start = at;
                    } else if self.depth == 1 && piece[at] == b'[' {
                        self.frame.extend_from_slice(&piece[start..at]);
                        start = at;
                        self.in_items = is_key_of_items(&self.frame);
                    }
                    self.depth += 1;
                }
                b'}' | b']' => {
                    self.depth = self
                        .depth
                        .checked_sub(1)
                        .ok_or("what the hub answered is no JSON")?;
                    if self.in_items && self.depth == BETWEEN {
                        if self.item.is_empty() {
                            each(&piece[start..=at]);
                        } else {
                            self.item.extend_from_slice(&piece[start..=at]);
                            each(&self.item);
                            self.item.clear();
                        }
                        start = at + 1;
                    } else if self.depth < BETWEEN {
                        self.in_items = false;
                    }
                }
                b',' if self.in_items && self.depth == BETWEEN => {
                    self.frame.extend_from_slice(&piece[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let within = self.in_items && self.depth > BETWEEN;
        let rest = if within { &mut self.item } else { &mut self.frame };
        rest.extend_from_slice(&piece[start..]);
        if self.item.len() > LARGEST_ITEM || self.frame.len() > LARGEST_FRAME {
            return Err("a part of the list is too large to be one");
        }
        Ok(())
    }

    /// Goes on in a string, up to its end or to the next escape.
    fn string(&mut self, piece: &[u8], at: usize) -> usize {
        if self.escaped {
            self.escaped = false;
            return at + 1;
        }
        let Some(next) = piece[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return piece.len();
        };
        if piece[at + next] == b'"' {
            self.in_string = false;
        } else {
            self.escaped = true;
        }
        at + next + 1
    }

    /// The head of the list, once the whole body was fed.
    ///
    /// # Errors
    /// When the body broke off or is no list.
    pub fn finish(self) -> Result<Frame, &'static str> {
        if self.depth > 0 || self.in_string {
            return Err("the list broke off");
        }
        match serde_json::from_slice::<Frame>(&self.frame) {
            Ok(frame) if frame.items.0 => Ok(frame),
            _ => Err("what the hub answered is no list"),
        }
    }
}

/// Whether the JSON so far ends with the key `items`, so that its value comes next.
fn is_key_of_items(frame: &[u8]) -> bool {
    let key = frame
        .trim_ascii_end()
        .strip_suffix(b":")
        .map(<[u8]>::trim_ascii_end);
    key.is_some_and(|key| key.ends_with(b"\"items\""))
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
