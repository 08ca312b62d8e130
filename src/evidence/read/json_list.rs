//! Cuts the JSON of a list into its items while it arrives, so that it is never whole in memory.
//!
//! Each item comes out as text of its own: one that does not fit its type spoils none of the others, and serde reads
//! from a slice, which is several times faster than from a stream. The cutter only matches brackets: whoever parses the
//! items and the frame finds everything else that is wrong with them.

/// What a list is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// What stands before the items, up to the bracket that opens them.
    Opening(&'a [u8]),
    /// One item.
    Item(&'a [u8]),
}

/// Why a text cannot be cut on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutError {
    /// It is no JSON.
    #[error("expected {0}")]
    Syntax(&'static str),
    /// An item, or what stands around the items, exceeds the limit.
    #[error("a part of it is too large")]
    TooLarge,
}

/// A place in a text, both from 0: the line breaks before it, and the characters since the last of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The line breaks before it.
    pub line: usize,
    /// The characters between the last line break and it.
    pub column: usize,
}

impl Position {
    /// The place behind a text that begins here.
    pub fn after(self, text: &[u8]) -> Self {
        match memchr::memrchr(b'\n', text) {
            None => Self {
                column: self.column + characters(text),
                ..self
            },
            Some(last) => Self {
                line: self.line + memchr::memchr_iter(b'\n', text).count(),
                column: characters(&text[last + 1..]),
            },
        }
    }
}

/// Counts the bytes that begin a character of UTF-8.
fn characters(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// How far the cutting of a value has come. Feed it the text piece by piece.
///
/// The items are those of an array, or of the key `items` of an object. A value without them is all frame.
#[derive(Debug)]
pub struct ListCutter {
    /// What stands around the items; the list without them, in the end.
    frame: Vec<u8>,
    /// The beginning of an item that goes on in the next piece.
    item: Vec<u8>,
    place: Place,
    /// Open brackets and braces.
    depth: usize,
    /// The depth between the items.
    between: usize,
    in_string: bool,
    escaped: bool,
    /// The most bytes of an item, or of the frame.
    largest: usize,
    /// Where the value begins.
    begins: Position,
    /// Where the present item begins, or what comes next.
    at: Position,
    /// The place behind the last item, where the frame goes on.
    behind: Position,
    looked_at: usize,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Around,
    /// Between two items.
    Between(Expected),
    /// Within an item in brackets or quotes.
    Within,
    /// Within a number, `true`, `false` or `null`.
    Bare,
    /// Behind the value.
    Behind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    ItemOrEnd,
    Item,
    CommaOrEnd,
}

impl ListCutter {
    /// Begins with a value. `largest` bounds each item and the frame, in bytes.
    pub fn new(largest: usize) -> Self {
        Self {
            frame: Vec::new(),
            item: Vec::new(),
            place: Place::Around,
            depth: 0,
            between: 0,
            in_string: false,
            escaped: false,
            largest,
            begins: Position::default(),
            at: Position::default(),
            behind: Position::default(),
            looked_at: 0,
        }
    }

    /// Says where the value begins, in what is read.
    pub fn beginning_at(self, begins: Position) -> Self {
        Self {
            begins,
            at: begins,
            ..self
        }
    }

    /// Takes the next piece of the text. Hands each part that it completes to `each`, with the place where it begins.
    /// Returns how much of the piece was taken: all of it, or what belongs to the value.
    ///
    /// # Errors
    /// When it cannot be JSON, or a part is too large.
    pub fn feed(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(Part<'_>, Position),
    ) -> Result<usize, CutError> {
        let mut at = 0;
        let fed = self.cut(piece, &mut at, &mut each);
        self.looked_at = at;
        fed.map(|()| at)
    }

    fn cut(
        &mut self,
        piece: &[u8],
        at: &mut usize,
        each: &mut impl FnMut(Part<'_>, Position),
    ) -> Result<(), CutError> {
        // Where what is not yet taken begins.
        let mut start = 0;
        while *at < piece.len() {
            if self.in_string {
                *at = self.string(piece, *at);
                if !self.in_string && self.place == Place::Within && self.depth == self.between {
                    self.end_item(&piece[start..*at], each)?;
                    start = *at;
                }
                continue;
            }
            let byte = piece[*at];
            match self.place {
                Place::Behind => break,
                Place::Around => match byte {
                    b'"' => self.in_string = true,
                    b'[' if self.depth == 0
                        || self.depth == 1 && self.is_key_of_items(&piece[start..*at]) =>
                    {
                        self.depth += 1;
                        self.between = self.depth;
                        self.place = Place::Between(Expected::ItemOrEnd);
                        self.grow_frame(&piece[start..=*at]);
                        start = *at + 1;
                        each(Part::Opening(&self.frame), self.begins);
                    }
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.close()?;
                        if self.depth == 0 {
                            self.place = Place::Behind;
                        }
                    }
                    _ if self.depth == 0 && !byte.is_ascii_whitespace() => {
                        return Err(CutError::Syntax("an object or a list"));
                    }
                    _ => {}
                },
                Place::Between(expected) => {
                    start = *at + 1;
                    match (byte, expected) {
                        (b' ' | b'\t' | b'\r' | b'\n', _) => self.at = self.at.after(&[byte]),
                        (b',', Expected::CommaOrEnd) => {
                            self.place = Place::Between(Expected::Item);
                            self.at = self.at.after(&[byte]);
                        }
                        (b']', Expected::ItemOrEnd | Expected::CommaOrEnd) => {
                            start = *at;
                            self.behind = self.at;
                            self.close()?;
                            self.place = if self.depth == 0 {
                                Place::Behind
                            } else {
                                Place::Around
                            };
                        }
                        (_, Expected::CommaOrEnd) => {
                            return Err(CutError::Syntax("a comma or the end of the list"));
                        }
                        (b',' | b':' | b']' | b'}', _) => {
                            return Err(CutError::Syntax("an item of the list"));
                        }
                        _ => {
                            start = *at;
                            match byte {
                                b'{' | b'[' => self.depth += 1,
                                b'"' => self.in_string = true,
                                _ => {}
                            }
                            let is_bare = !matches!(byte, b'{' | b'[' | b'"');
                            self.place = if is_bare { Place::Bare } else { Place::Within };
                        }
                    }
                }
                Place::Within => match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.close()?;
                        if self.depth == self.between {
                            self.end_item(&piece[start..=*at], each)?;
                            start = *at + 1;
                        }
                    }
                    _ => {}
                },
                Place::Bare => {
                    if matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n') {
                        self.end_item(&piece[start..*at], each)?;
                        start = *at;
                        // The byte belongs to what comes next.
                        continue;
                    }
                }
            }
            *at += 1;
        }
        match self.place {
            Place::Around | Place::Behind => self.grow_frame(&piece[start..*at]),
            Place::Within | Place::Bare => self.item.extend_from_slice(&piece[start..*at]),
            Place::Between(_) => {}
        }
        if self.item.len().max(self.frame.len()) > self.largest {
            return Err(CutError::TooLarge);
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

    fn close(&mut self) -> Result<(), CutError> {
        let depth = self.depth.checked_sub(1);
        self.depth = depth.ok_or(CutError::Syntax("an object or a list"))?;
        Ok(())
    }

    fn grow_frame(&mut self, more: &[u8]) {
        self.at = self.at.after(more);
        self.frame.extend_from_slice(more);
    }

    fn end_item(&mut self, rest: &[u8], each: &mut impl FnMut(Part<'_>, Position)) -> Result<(), CutError> {
        self.place = Place::Between(Expected::CommaOrEnd);
        if self.item.len() + rest.len() > self.largest {
            return Err(CutError::TooLarge);
        }
        if self.item.is_empty() {
            each(Part::Item(rest), self.at);
            self.at = self.at.after(rest);
        } else {
            self.item.extend_from_slice(rest);
            each(Part::Item(&self.item), self.at);
            self.at = self.at.after(&self.item);
            self.item.clear();
        }
        Ok(())
    }

    /// Returns `true` if the frame and what follows it end with the key `items`, so that its value comes next.
    fn is_key_of_items(&self, rest: &[u8]) -> bool {
        // White space aside, the key may stand in the frame or in the rest, or be cut by their border.
        let mut before = self.frame.iter().chain(rest).rev();
        let mut next = || before.by_ref().find(|byte| !byte.is_ascii_whitespace());
        if next() != Some(&b':') || next() != Some(&b'"') {
            return false;
        }
        b"\"items".iter().rev().all(|byte| before.next() == Some(byte)) && before.next() != Some(&b'\\')
    }

    /// Returns `true` if the value has begun, and is not complete.
    pub fn has_begun(&self) -> bool {
        self.depth > 0
    }

    /// Where the present item begins, or what comes next.
    pub fn begun(&self) -> Position {
        self.at
    }

    /// How much of the last piece was looked at: up to the flaw, if there is one.
    pub fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// Where the items end, and the frame goes on.
    pub fn behind_items(&self) -> Position {
        self.behind
    }

    /// The value without its items; `None` if it is not complete.
    pub fn frame(&self) -> Option<&[u8]> {
        (self.place == Place::Behind).then_some(&self.frame)
    }

    /// Begins with another value, at that place.
    pub fn restart(&mut self, begins: Position) {
        let (mut frame, mut item) = (std::mem::take(&mut self.frame), std::mem::take(&mut self.item));
        frame.clear();
        item.clear();
        *self = Self {
            frame,
            item,
            ..Self::new(self.largest).beginning_at(begins)
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The items and the frame of a list that arrives in pieces of that size.
    fn cut(text: &str, size: usize) -> Result<(Vec<Value>, Value), String> {
        let mut cutter = ListCutter::new(1000);
        let mut items = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            let each = |part: Part<'_>, _: Position| {
                if let Part::Item(item) = part {
                    items.push(serde_json::from_slice(item));
                }
            };
            let taken = cutter.feed(piece, each).map_err(|error| error.to_string())?;
            if !piece[taken..].trim_ascii().is_empty() {
                return Err("more behind it".to_owned());
            }
        }
        let frame = cutter.frame().ok_or("it ends in the middle")?;
        let items: Result<Vec<Value>, _> = items.into_iter().collect();
        let frame = serde_json::from_slice(frame).map_err(|error| error.to_string())?;
        Ok((items.map_err(|error| error.to_string())?, frame))
    }

    #[test]
    fn finds_the_items_however_the_text_is_cut() {
        let items = json!([
            {"a": "}]\"\\", "items": [1, {"b": ","}], "é": "\u{1F600}\\\""},
            {},
            7.5,
            "]\\\"",
            null,
            [],
            {"metadata": {"items": [{"x": []}]}},
        ]);
        let before = json!({"kind": "L", "metadata": {"resourceVersion": "7", "items": ["items"]},
            "y\"items": [1], "items": items});
        let pretty = serde_json::to_string_pretty(&before).expect("writes");
        let behind =
            format!(r#"{{"note": ["items"], "items" : {items}, "metadata": {{"resourceVersion": "7"}}}}"#);
        for text in [before.to_string(), pretty, behind] {
            let mut frame: Value = serde_json::from_str(&text).expect("JSON");
            frame["items"] = json!([]);
            for size in 1..=text.len() {
                assert_eq!(
                    cut(&text, size),
                    Ok((items.as_array().expect("a list").clone(), frame.clone())),
                    "cut into pieces of {size}: {text}"
                );
            }
        }
        for size in 1..30 {
            assert_eq!(
                cut(" [ 1 , {\"a\":[]}]\n", size),
                Ok((vec![json!(1), json!({"a": []})], json!([])))
            );
            assert_eq!(
                cut(r#"{"items": {"a": []}}"#, size),
                Ok((vec![], json!({"items": {"a": []}})))
            );
        }
    }

    #[test]
    fn what_is_no_json_is_never_cut_as_if_it_were() {
        for text in [
            r#"{"items": [{"a": 1}, {"b": 2}], "metadata": {}}"#,
            r#"[{"items": "\"]"}, -1e5 , [true,null]]"#,
        ] {
            for at in 0..text.len() {
                assert!(cut(&text[..at], 5).is_err(), "{}", &text[..at]);
                for byte in [",", "[", "]", "{", "}", ":", "\"", "\\", "1", " ", "\n", "x"] {
                    let spoilt = format!("{}{byte}{}", &text[..at], &text[at..]);
                    let parsed = serde_json::from_str::<Value>(&spoilt);
                    assert_eq!(cut(&spoilt, 5).is_ok(), parsed.is_ok(), "{spoilt}");
                }
            }
        }
        for text in [
            "",
            "}",
            "7",
            "<html>",
            "[,]",
            "[1,]",
            "[1 2]",
            "[1}",
            r#"{"items": [1}]"#,
            "{} {}",
        ] {
            assert!(cut(text, 3).is_err(), "{text}");
        }
    }

    #[test]
    fn a_part_is_bounded() {
        let feed = |text: &str| {
            let mut cutter = ListCutter::new(20);
            let fed = text
                .as_bytes()
                .chunks(7)
                .try_for_each(|piece| cutter.feed(piece, |_, _| {}).map(drop));
            (fed, cutter.item.capacity() + cutter.frame.capacity())
        };
        assert_eq!(
            feed(&format!("[{}1]", "12345678901234567890,".repeat(99))).0,
            Ok(())
        );
        for text in [
            format!("[{}]", "1".repeat(10_000)),
            format!("[\"{}\"]", "1".repeat(10_000)),
            "{\"a\": ".repeat(10_000),
            " ".repeat(10_000),
        ] {
            let (fed, held) = feed(&text);
            assert_eq!(fed, Err(CutError::TooLarge), "{}", &text[..20]);
            assert!(held < 200, "{held} bytes for {}", &text[..20]);
        }
        let mut cutter = ListCutter::new(20);
        let whole = cutter.feed(br#"[{"a": "1234567890123"}]"#, |_, _| {});
        assert_eq!(whole, Err(CutError::TooLarge), "an item that comes in one piece");
    }

    #[test]
    fn tells_where_each_item_begins() {
        let at = |line: usize, column: usize| Position { line, column };
        let text = "\n{\n\"a\": [\n1],\n\"items\": [\n{\n}\n,\n\n 7, \"é\",8\n ]\n}\nbehind";
        for size in 1..text.len() {
            let (mut cutter, mut begins, mut taken) = (ListCutter::new(1000), Vec::new(), 0);
            for piece in text.as_bytes().chunks(size) {
                let each = |part: Part<'_>, at: Position| {
                    if let Part::Item(_) = part {
                        begins.push(at);
                    }
                };
                taken += cutter.feed(piece, each).expect("JSON");
            }
            assert_eq!(begins, [at(5, 0), at(9, 1), at(9, 4), at(9, 8)], "{size}");
            assert_eq!((cutter.behind_items(), cutter.begun()), (at(10, 1), at(11, 1)));
            assert_eq!(&text[taken..], "\nbehind");
            cutter.restart(at(11, 1));
            assert_eq!(cutter.begun(), at(11, 1));
        }
    }
}
