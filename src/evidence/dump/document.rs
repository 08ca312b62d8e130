//! Reads the documents of a file, and hands the items of lists over one by one.

use std::io::Read;

use super::{gather::Gatherer, source::Source, types::Types, yaml};
use crate::{InputError, lenient, read::input::FilePlace};

/// How many times the size of the largest object the items of a list may have that wait for the list's type.
const DEFERRED: usize = 4;

const LATE_TYPE: &str =
    " is in a large list whose type comes after its items: dump with `kubectl get`, which types each item";

/// Reads a file. Returns its size in bytes, and whether it is blank.
pub(super) fn read_file(
    reader: impl Read,
    file: &str,
    gatherer: &mut Gatherer<'_>,
) -> Result<(u64, bool), InputError> {
    let mut source = Source::new(reader, file, 1, gatherer.limits);
    gatherer.begin_file(file);
    while source.next_document()? {
        gatherer.count += 1;
        match source.first_byte()? {
            None => {}
            Some(b'{' | b'[') => Json::new(&mut source, gatherer).read()?,
            Some(_) => {
                gatherer.documents += 1;
                read_yaml(&mut source, gatherer)?;
            }
        }
        gatherer.check_limits(source.line())?;
    }
    Ok((source.size, source.is_blank))
}

/// Reads a document of YAML, as JSON.
fn read_yaml(source: &mut Source<'_, impl Read>, gatherer: &mut Gatherer<'_>) -> Result<(), InputError> {
    let begins = source.place();
    let text = source.document()?;
    let cut = source.is_cut().then(|| source.last_line());
    let text = yaml::to_json(&text, begins, cut)?;
    let parts = lenient::parts(&text);
    let types = Types::of(&parts);
    // kubectl writes the version first, and the kind last.
    let ends_early = types.kind.is_empty() && !types.api_version.is_empty();
    if parts.contains_key("items") && (ends_early || !types.is_list() && cut.is_some()) {
        return Err(source.cut_short());
    }
    let mut text = Source::new(text.as_bytes(), begins.file, begins.line, gatherer.limits);
    Json::new(&mut text, gatherer).read()
}

/// Reads a document of JSON.
struct Json<'r, 'f, 'd, R> {
    source: &'r mut Source<'f, R>,
    gatherer: &'r mut Gatherer<'d>,
    /// The items that wait for the type of their list, each with its line, and their size.
    deferred: Vec<(String, usize)>,
    deferred_size: usize,
}

impl<'r, 'f, 'd, R: Read> Json<'r, 'f, 'd, R> {
    fn new(source: &'r mut Source<'f, R>, gatherer: &'r mut Gatherer<'d>) -> Self {
        Self {
            source,
            gatherer,
            deferred: Vec::new(),
            deferred_size: 0,
        }
    }

    /// Reads the values of the document: one may follow another.
    fn read(mut self) -> Result<(), InputError> {
        while self.source.peek()?.is_some() && !self.source.is_at_mark()? {
            let line = self.source.line();
            match self.source.peek()? {
                Some(b'[') => self.read_items(Some(&Types::default()))?,
                Some(b'{') => self.read_object(line)?,
                _ => {
                    let value = self.source.value()?;
                    if value != "null" {
                        self.gatherer.take(&value, Some(&Types::default()), line, 0)?;
                    }
                }
            }
            self.gatherer.check_limits(self.source.line())?;
        }
        Ok(())
    }

    /// Reads an object, and its items one by one if it is a list.
    fn read_object(&mut self, line: usize) -> Result<(), InputError> {
        let (mut object, mut has_items) = ("{".to_owned(), false);
        self.source.skip(1);
        while !self.source.skip_sign(b'}')? {
            if object.len() > 1 {
                self.source.expect(b',', "expected `,` or `}`")?;
                object.push(',');
            }
            self.source.check(b'"', "key must be a string")?;
            let key = self.source.value()?;
            self.source.expect(b':', "expected `:`")?;
            let next = self.source.peek()?;
            let may_be_items = key == "\"items\"" && matches!(next, Some(b'[' | b'n'));
            if may_be_items && has_items {
                self.source.check(b':', "duplicate field `items`")?;
            }
            let types = may_be_items.then(|| Types::of_fields(&object));
            has_items |= types.as_ref().is_some_and(Types::is_list);
            object += &key;
            object.push(':');
            if let Some(types) = types
                && types.is_list()
                && next == Some(b'[')
            {
                let of_items = (!types.is_incomplete()).then(|| types.of_items());
                self.read_items(of_items.as_ref())?;
                object.push_str("[]");
            } else {
                object += &self.source.value()?;
            }
            self.source.check_size(object.len())?;
        }
        object.push('}');
        let types = Types::of(&lenient::parts(&object));
        let deferred = std::mem::take(&mut self.deferred);
        self.deferred_size = 0;
        if has_items && !types.is_list() {
            self.gatherer.take_malformed_list(line);
            return Ok(());
        }
        self.gatherer.take(&object, Some(&Types::default()), line, 0)?;
        let of_items = types.of_items();
        for (json, line) in deferred {
            self.gatherer.take(&json, Some(&of_items), line, 0)?;
        }
        Ok(())
    }

    /// Reads the items of a list. `types` is their type, if the list has named it by now.
    fn read_items(&mut self, types: Option<&Types>) -> Result<(), InputError> {
        self.source.skip(1);
        if self.source.skip_sign(b']')? {
            return Ok(());
        }
        loop {
            self.source.peek()?;
            let line = self.source.line();
            let json = self.source.value()?;
            if !self.gatherer.take(&json, types, line, 0)? {
                self.defer(json, line)?;
            }
            if !self.source.skip_sign(b',')? {
                return self.source.expect(b']', "expected `,` or `]`");
            }
        }
    }

    /// Keeps an item back until its list has named its type.
    fn defer(&mut self, json: String, line: usize) -> Result<(), InputError> {
        self.deferred_size += json.len();
        self.deferred.push((json, line));
        let limits = &self.gatherer.limits;
        let most = limits.object.saturating_mul(DEFERRED);
        if self.deferred_size > most || self.deferred.len() > limits.unreadable {
            return Err(self.gatherer.place(line).content(LATE_TYPE));
        }
        Ok(())
    }
}

/// The error for text that cannot be parsed. The column counts from 1.
pub(super) fn syntax(place: FilePlace<'_>, column: usize, language: &str, message: &str) -> InputError {
    let message = message.rfind(" at line ").map_or(message, |at| &message[..at]);
    let column = column.max(1);
    place.content(format_args!(
        ":{column} is not valid {language}: {message}; correct the file, or dump again"
    ))
}
