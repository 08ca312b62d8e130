//! Cuts YAML in block style, as kubectl writes it, into the items of its list: indentation alone separates them.

use super::place::CutOut;
use crate::json_list::{CutError, Position};

/// Cuts a list in block style into its items while it arrives: below a line `items:`, or from the document's start.
/// Anything else is all frame.
pub(super) struct Cutter {
    /// The document without its items.
    frame: Vec<u8>,
    item: Vec<u8>,
    /// The beginning of a line that goes on in the next piece.
    line: Vec<u8>,
    state: State,
    /// The most bytes of an item, or of the frame.
    largest: usize,
    /// Where the present line begins.
    at: Position,
    /// Where the present item begins.
    item_begins: Position,
    cut: Option<CutOut>,
}

/// Where the next line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
    /// Below the end of the document.
    Ended,
}

impl Cutter {
    /// Begins with a document at that place.
    pub fn new(largest: usize, begins: Position) -> Self {
        Self {
            frame: Vec::new(),
            item: Vec::new(),
            line: Vec::new(),
            state: State::Start,
            largest,
            at: begins,
            item_begins: begins,
            cut: None,
        }
    }

    /// Takes the next piece of the document. Hands each item that it completes to `each`, with its place.
    ///
    /// # Errors
    /// When a part is too large, or something follows the document's end.
    pub fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8], Position)) -> Result<(), CutError> {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.line.is_empty() {
                self.take(line, &mut each)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take(&whole, &mut each)?;
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

    fn take(&mut self, text: &[u8], each: &mut impl FnMut(&[u8], Position)) -> Result<(), CutError> {
        let line = Line::of(text);
        if self.state == State::Start && line.depth.is_some() {
            self.state = if line.is_entry() {
                State::BeforeItems
            } else {
                State::Around
            };
        }
        match (self.state, line.depth) {
            (State::Ended, Some(_)) if !line.is_document_end() && !line.is_directive() => {
                return Err(CutError::Syntax("`---` before another document"));
            }
            (_, Some(0)) if line.is_document_end() => {
                self.end_items(each);
                self.state = State::Ended;
                self.frame.extend_from_slice(text);
            }
            (State::Items(of_items), Some(depth)) if depth == of_items && line.is_entry() => {
                self.end_item(each);
                self.item.extend_from_slice(text);
            }
            (State::BeforeItems, Some(depth)) if line.is_entry() => {
                self.state = State::Items(depth);
                self.item_begins = self.at;
                self.cut = Some(CutOut {
                    from: self.frame.len(),
                    behind: self.at,
                });
                self.item.extend_from_slice(text);
            }
            (State::Items(of_items), depth) if depth.is_none_or(|depth| depth > of_items) => {
                self.item.extend_from_slice(text);
            }
            (State::Items(_) | State::BeforeItems, Some(_)) => {
                self.end_items(each);
                self.state = State::Behind;
                self.frame.extend_from_slice(text);
            }
            (State::Around, Some(0)) if line.content == b"items:" => {
                self.state = State::BeforeItems;
                self.frame.extend_from_slice(text);
            }
            _ => self.frame.extend_from_slice(text),
        }
        self.at = Position {
            line: self.at.line + 1,
            column: 0,
        };
        Ok(())
    }

    fn end_item(&mut self, each: &mut impl FnMut(&[u8], Position)) {
        if !self.item.is_empty() {
            each(&self.item, self.item_begins);
            self.item.clear();
        }
        self.item_begins = self.at;
    }

    /// Ends the items, if there are any: the frame goes on here.
    fn end_items(&mut self, each: &mut impl FnMut(&[u8], Position)) {
        if let (State::Items(_), Some(cut)) = (self.state, &mut self.cut) {
            cut.behind = self.at;
        }
        self.end_item(each);
    }

    /// Where the item begins that is being read, or the line.
    pub fn begun(&self) -> Position {
        if self.item.is_empty() {
            self.at
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

    /// Ends the document. Hands its last item to `each`. Returns the document without its items, and where they were.
    ///
    /// # Errors
    /// When something follows the document's end.
    pub fn finish(
        &mut self,
        mut each: impl FnMut(&[u8], Position),
    ) -> Result<(&[u8], Option<CutOut>), CutError> {
        let last = std::mem::take(&mut self.line);
        if !last.is_empty() {
            self.take(&last, &mut each)?;
        }
        self.end_items(&mut each);
        Ok((&self.frame, self.cut))
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

    fn is_document_end(&self) -> bool {
        self.content == b"..." || self.content.starts_with(b"... ")
    }

    fn is_directive(&self) -> bool {
        self.content.starts_with(b"%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items of a document that arrives in pieces of that size, each with its line, and its frame.
    fn cut(document: &str, size: usize) -> Result<(Vec<(usize, String)>, String), CutError> {
        let (mut cutter, mut items) = (Cutter::new(200, Position::default()), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        for piece in document.as_bytes().chunks(size) {
            cutter.feed(piece, |item, at| items.push((at.line, text(item))))?;
        }
        let (frame, cut) = cutter.finish(|item, at| items.push((at.line, text(item))))?;
        let frame = text(frame);
        if let Some(cut) = cut {
            let behind = document.lines().skip(cut.behind.line);
            assert!(behind.eq(frame[cut.from..].lines()), "{cut:?} of {document}");
        }
        assert_eq!(cut.is_some(), !items.is_empty());
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
            "items:\n# none\nkind: List\n",
            "items:",
            "# nothing\n...\n# more\n%YAML 1.2\n...\n",
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
    fn nothing_follows_the_end_of_a_document() {
        let list = "items:\n- 1\n...\n";
        assert_eq!(
            cut(list, 9),
            Ok((vec![(1, "- 1\n".to_owned())], "items:\n...\n".to_owned()))
        );
        for more in ["- 2", "a: 1\n", "... # the end\nkind: List\n"] {
            let refused = cut(&format!("{list}{more}"), 9);
            assert!(matches!(refused, Err(CutError::Syntax(_))), "{more}");
        }
    }
}
