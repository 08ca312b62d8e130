//! Reads broken YAML line by line: in block style, as kubectl writes it, indentation alone separates and names objects.

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use super::{item::CutOut, text::options};
use crate::json_list::CutError;

/// Cuts a list in block style into its items while it arrives: below a line `items:`, or from the document's start.
/// Anything else is all frame.
pub(super) struct Cutter {
    /// The document without its items.
    frame: Vec<u8>,
    item: Vec<u8>,
    /// The beginning of a line that goes on in the next piece.
    line: Vec<u8>,
    place: Position,
    /// The most bytes of an item, or of the frame.
    largest: usize,
    /// The line of the document in which the present item begins, from 0.
    item_begins: usize,
    /// The number of lines before the present one.
    lines: usize,
    cut: CutOut,
}

/// Where the next line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before the first line that says something.
    Start,
    /// Around the items.
    Around,
    /// Below `items:`, before the first item.
    BeforeItems,
    /// Among items of that indentation.
    Items(usize),
    /// Below the items.
    Behind,
}

impl Cutter {
    pub fn new(largest: usize) -> Self {
        Self {
            frame: Vec::new(),
            item: Vec::new(),
            line: Vec::new(),
            place: Position::Start,
            largest,
            item_begins: 0,
            lines: 0,
            cut: CutOut::default(),
        }
    }

    /// Takes the next piece of the document. Hands each item that it completes to `each`, with its line, from 0.
    ///
    /// # Errors
    /// When a part is too large.
    pub fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8], usize)) -> Result<(), CutError> {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.line.is_empty() {
                self.take(line, &mut each);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take(&whole, &mut each);
                whole.clear();
                self.line = whole;
            }
            self.check()?;
        }
        self.line.extend_from_slice(rest);
        self.check()
    }

    fn check(&self) -> Result<(), CutError> {
        let largest = self.frame.len().max(self.item.len() + self.line.len());
        if largest > self.largest {
            return Err(CutError::TooLarge);
        }
        Ok(())
    }

    fn take(&mut self, text: &[u8], each: &mut impl FnMut(&[u8], usize)) {
        let line = Line::of(text);
        if self.place == Position::Start && line.depth.is_some() {
            self.place = if line.is_entry() {
                Position::BeforeItems
            } else {
                Position::Around
            };
        }
        match (self.place, line.depth) {
            (Position::Items(of_items), Some(depth)) if depth == of_items && line.is_entry() => {
                self.end_item(each);
                self.item.extend_from_slice(text);
            }
            (Position::BeforeItems, Some(depth)) if line.is_entry() => {
                self.place = Position::Items(depth);
                self.item_begins = self.lines;
                self.item.extend_from_slice(text);
            }
            (Position::Items(of_items), depth) if depth.is_none_or(|depth| depth > of_items) => {
                self.item.extend_from_slice(text);
            }
            (Position::BeforeItems, None) => self.cut.lines += 1,
            (Position::Items(_) | Position::BeforeItems, _) => {
                self.end_item(each);
                self.place = Position::Behind;
                self.frame.extend_from_slice(text);
            }
            (Position::Around, Some(0)) if line.content == b"items:" => {
                self.place = Position::BeforeItems;
                self.frame.extend_from_slice(text);
                self.cut.after = self.lines + 1;
            }
            (Position::Start | Position::Around | Position::Behind, _) => self.frame.extend_from_slice(text),
        }
        self.lines += 1;
    }

    fn end_item(&mut self, each: &mut impl FnMut(&[u8], usize)) {
        if !self.item.is_empty() {
            each(&self.item, self.item_begins);
            self.cut.lines += self.lines - self.item_begins;
            self.item.clear();
        }
        self.item_begins = self.lines;
    }

    /// The number of lines before the item that is being read, or so far.
    pub fn begun(&self) -> usize {
        if self.item.is_empty() {
            self.lines
        } else {
            self.item_begins
        }
    }

    /// Returns `true` if what is being read may be text.
    pub fn is_text(&self) -> bool {
        [&self.frame, &self.item, &self.line]
            .into_iter()
            .all(|part| match str::from_utf8(part) {
                Ok(_) => true,
                // A character may go on in the next piece.
                Err(error) => error.error_len().is_none(),
            })
    }

    /// Ends the document. Hands its last item to `each`. Returns the document without its items, and what it lacks.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8], usize)) -> (&[u8], CutOut) {
        let last = std::mem::take(&mut self.line);
        if !last.is_empty() {
            self.take(&last, &mut each);
        }
        self.end_item(&mut each);
        (&self.frame, self.cut)
    }
}

/// One line.
struct Line<'a> {
    /// Its indentation in spaces; none for a blank line, a comment or a tab.
    depth: Option<usize>,
    content: &'a [u8],
}

impl<'a> Line<'a> {
    fn of(whole: &'a [u8]) -> Self {
        let bare = whole.trim_ascii_end();
        let depth = bare.iter().take_while(|byte| **byte == b' ').count();
        let content = &bare[depth..];
        let says_nothing = content.is_empty() || content.starts_with(b"#") || content.starts_with(b"\t");
        Line {
            depth: (!says_nothing).then_some(depth),
            content,
        }
    }

    fn is_entry(&self) -> bool {
        self.content == b"-" || self.content.starts_with(b"- ")
    }
}

/// Reads an object's identity from single lines.
pub(super) fn glean(document: &str) -> Value {
    let (mut object, mut metadata) = (Map::new(), Map::new());
    let mut depths = (None, None);
    let mut in_metadata = false;
    for line in document.lines() {
        let Line {
            depth: Some(mut depth),
            ..
        } = Line::of(line.as_bytes())
        else {
            continue;
        };
        let mut content = line[depth..].trim_end();
        if let (None, Some(rest)) = (depths.0, content.strip_prefix("- ")) {
            depth += content.len() - rest.trim_start().len();
            content = rest.trim_start();
        }
        let Some((key, value)) = content.split_once(':') else {
            continue;
        };
        let outer = *depths.0.get_or_insert(depth);
        if depth == outer {
            in_metadata = key == "metadata";
            match (key, scalar(value)) {
                ("apiVersion" | "kind", Some(text @ Value::String(_))) => {
                    object.insert(key.to_owned(), text);
                }
                ("metadata", Some(Value::Object(map))) => metadata = map,
                _ => {}
            }
        } else if in_metadata
            && depth == *depths.1.get_or_insert(depth)
            && matches!(key, "name" | "namespace" | "uid" | "resourceVersion")
            && let Some(text @ Value::String(_)) = scalar(value)
        {
            metadata.insert(key.to_owned(), text);
        }
    }
    object.insert("metadata".to_owned(), Value::Object(metadata));
    Value::Object(object)
}

/// The value on one line, if it is complete.
fn scalar(text: &str) -> Option<Value> {
    serde_saphyr::from_str_with_options(text.trim(), options(DuplicateKeyPolicy::Error)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The items of a document that arrives in pieces of that size, each with its line, and its frame.
    fn cut(document: &str, size: usize) -> Result<(Vec<(usize, String)>, String), CutError> {
        let (mut cutter, mut items) = (Cutter::new(200), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        for piece in document.as_bytes().chunks(size) {
            cutter.feed(piece, |item, line| items.push((line, text(item))))?;
        }
        let (frame, cut) = cutter.finish(|item, line| items.push((line, text(item))));
        let frame = text(frame);
        assert_eq!(
            frame.lines().count() + cut.lines,
            document.lines().count(),
            "{document}"
        );
        Ok((items, frame))
    }

    #[test]
    fn cuts_lists_as_kubectl_and_others_write_them() {
        for (indent, head, tail) in [
            (
                "",
                "apiVersion: v1\nitems:\n",
                "kind: List\nmetadata:\n  resourceVersion: \"\"\n",
            ),
            ("  ", "kind: List\nitems:\n", ""),
            ("", "# of kubectl\n", ""),
        ] {
            let items = [
                "- kind: A\n  text: |\n    - no item\n\n    items:\n  list:\n  - 1\n",
                "-\n  kind: B\n# - a comment\n\tx: 1\n",
                "- kind: C\n",
            ];
            let indented = |item: &str| -> String {
                let lines = item.split_inclusive('\n');
                lines.map(|line| format!("{indent}{line}")).collect()
            };
            let items: Vec<String> = items.iter().map(|item| indented(item)).collect();
            let document = format!("{head}{}{tail}", items.concat());
            let first = head.lines().count();
            let lines = [first, first + 7, first + 11];
            let expected: Vec<(usize, String)> = lines.into_iter().zip(items).collect();
            for size in 1..=document.len() {
                let (found, frame) = cut(&document, size).expect("a list");
                assert_eq!((&found, frame), (&expected, format!("{head}{tail}")), "{size}");
            }
        }
        for none in [
            "",
            "kind: A\nspec:\n  items:\n  - 1\n",
            "items: [1]\n",
            "items:\nkind: List\n",
            "items:",
        ] {
            assert_eq!(cut(none, 3), Ok((Vec::new(), none.to_owned())));
        }
        // Only the first list counts.
        let twice = "items:\n- 1\nitems:\n- 2";
        assert_eq!(
            cut(twice, 9),
            Ok((vec![(1, "- 1\n".to_owned())], "items:\nitems:\n- 2".to_owned()))
        );
    }

    #[test]
    fn a_part_is_bounded() {
        assert_eq!(
            cut(&"- a: 1\n".repeat(1000), 9).map(|(items, _)| items.len()),
            Ok(1000)
        );
        for text in ["a", "- a: 1\n  b: 2\n", "a: 1\n", "\0"] {
            let text = if text.starts_with('-') {
                format!("- {}", "  b: 2\n".repeat(100))
            } else {
                text.repeat(1000)
            };
            assert_eq!(cut(&text, 9), Err(CutError::TooLarge), "{}", &text[..9]);
        }
    }

    #[test]
    fn gleans_who_an_object_is() {
        let known = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": "n"}});
        let text = "kind: \"A\"\nstatus: {\n  name: x\n\tname: y\nmetadata:\n  labels:\n    name: z\n  name: a\n  namespace: n # that\napiVersion: v1\n";
        assert_eq!(glean(text), known);
        let in_list = format!("- {}", text.replace('\n', "\n  ")).replace("\n  \t", "\n\t");
        assert_eq!(glean(&in_list), known);
        let in_flow = "apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: n}\nstatus: [\n";
        assert_eq!(glean(in_flow), known);
        assert_eq!(glean("hello: {"), json!({"metadata": {}}));
    }
}
