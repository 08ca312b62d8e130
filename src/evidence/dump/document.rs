//! Reads the documents of a file: hands the items of a list over one by one, as JSON.

use std::io::Read;

use super::{
    gather::Gatherer,
    source::{CUT_SHORT, DumpSource, line_breaks, syntax, without_place},
    transcode::transcode,
    types::Types,
};
use crate::{InputError, LimitError, lenient, read::input::FilePlace};

const DEEPEST: usize = 8;

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
    gatherer.begin_file(file);
    let mut source = DumpSource::new(reader, FilePlace { file, line: 1 }, gatherer.limits);
    let read = read_documents(&mut source, gatherer);
    // What is wrong with an object before the place at which the parser stopped counts first.
    gatherer.end_file()?;
    read.map(|()| (source.size, source.is_blank))
}

fn read_documents(
    source: &mut DumpSource<'_, impl Read>,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), InputError> {
    loop {
        gatherer.count += 1;
        match source.begin_document()? {
            None => {}
            Some(b'{' | b'[') => json(source, gatherer)?,
            Some(_) => {
                gatherer.documents += 1;
                yaml(source, gatherer)?;
            }
        }
        gatherer.check_limits(source.place().line)?;
        if !source.take_mark() {
            return Ok(());
        }
    }
}

/// Reads the values of a document of JSON.
fn json(source: &mut DumpSource<'_, impl Read>, gatherer: &mut Gatherer<'_>) -> Result<(), InputError> {
    while source.peek()?.is_some() {
        ValueReader {
            gatherer: &mut *gatherer,
            source: &mut *source,
            yaml_end: None,
            depth: 0,
        }
        .read()?;
        gatherer.count += 1;
        gatherer.check_limits(source.place().line)?;
    }
    Ok(())
}

/// Reads a document of YAML like kubectl: `yes` and `on` are text.
fn yaml(source: &mut DumpSource<'_, impl Read>, gatherer: &mut Gatherer<'_>) -> Result<(), InputError> {
    let begins = source.place();
    let document = source.document()?;
    let is_in_line = !document.ends_with('\n');
    let line = begins.line + line_breaks(&document) - usize::from(!is_in_line);
    let end = YamlEnd {
        place: FilePlace { line, ..begins },
        is_in_line,
    };
    let json = transcode(&document).map_err(|error| invalid_yaml(&error, begins, end))?;
    drop(document);
    ValueReader {
        source: &mut DumpSource::new(json.as_bytes(), begins, gatherer.limits),
        gatherer,
        yaml_end: Some(end),
        depth: 0,
    }
    .read()
}

fn invalid_yaml(error: &serde_saphyr::Error, begins: FilePlace<'_>, end: YamlEnd<'_>) -> InputError {
    let (line, column) = error
        .location()
        .map_or((1, 1), |place| (place.line() as usize, place.column() as usize));
    let mut message = match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` is repeated")
        }
        serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "a key is repeated".to_owned(),
        other => without_quotes(without_place(&other.to_string())),
    };
    let place = FilePlace {
        line: begins.line + line.max(1) - 1,
        ..begins
    };
    if end.is_in_line && place.line >= end.place.line {
        message += " (it ends there: was kubectl interrupted?)";
    }
    syntax(place, column.max(1), "YAML", &message)
}

/// Removes quotes of the file, which may be secrets.
fn without_quotes(message: &str) -> String {
    let parts = message.split(['"', '`']).enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { "…" } else { part })
        .collect()
}

/// The end of a document of YAML. One that was cut short may be valid.
#[derive(Clone, Copy)]
struct YamlEnd<'f> {
    /// Its last line.
    place: FilePlace<'f>,
    /// Whether the file ends without a line break.
    is_in_line: bool,
}

/// Reads a value: an object, an array of objects, or a list.
struct ValueReader<'r, 'd, 'f, R> {
    gatherer: &'r mut Gatherer<'d>,
    source: &'r mut DumpSource<'f, R>,
    /// If it is YAML.
    yaml_end: Option<YamlEnd<'f>>,
    /// How many lists it is in.
    depth: usize,
}

struct Deferred {
    json: Box<str>,
    line: usize,
}

impl<R: Read> ValueReader<'_, '_, '_, R> {
    fn read(mut self) -> Result<(), InputError> {
        match self.source.peek()? {
            Some(b'{') => self.read_object(),
            Some(b'[') => self.read_items(Some(&Types::default())).map(drop),
            _ => {
                let (line, json) = self.source.value()?;
                if json != "null" {
                    self.gatherer.not_an_object(&Types::default(), line);
                }
                Ok(())
            }
        }
    }

    fn read_object(&mut self) -> Result<(), InputError> {
        let line = self.source.place().line;
        let (mut object, mut items) = (DumpObject::default(), None);
        let mut goes_on = self.source.begin(b'}')?;
        while goes_on {
            let quoted = self.source.key()?;
            let key: String = serde_json::from_str(&quoted).unwrap_or_default();
            if key != "items" || !object.types.is_list() {
                object.add(&key, &quoted, self.source.value()?.1);
            } else if items.is_some() {
                return Err(self.source.unexpected("duplicate field `items`"));
            } else if self.source.peek()? == Some(b'[') {
                let types = Some(&object.types).filter(|types| !types.is_incomplete());
                items = Some(self.read_items(types.map(Types::of_items).as_ref())?);
            } else {
                let (_, json) = self.source.value()?;
                items = (json == "null").then(Vec::new);
                object.add(&key, &quoted, json);
            }
            if object.fields.len() > self.gatherer.limits.object {
                let limit = LimitError::Object(self.gatherer.limits.object);
                return Err(self.gatherer.place(line).too_large(limit));
            }
            goes_on = self.source.goes_on(b'}')?;
        }
        self.end_object(&object, items, line)
    }

    fn end_object(
        &mut self,
        object: &DumpObject,
        items: Option<Vec<Deferred>>,
        line: usize,
    ) -> Result<(), InputError> {
        let types = &object.types;
        let Some(deferred) = items else {
            let whole = format!("{{{}}}", object.fields);
            return take(self.gatherer, &whole, Some(&Types::default()), line, self.depth).map(drop);
        };
        if let Some(end) = &self.yaml_end
            && (types.is_cut() || !types.is_list() && end.is_in_line)
        {
            return Err(end.place.content(CUT_SHORT));
        }
        if !types.is_list() {
            self.gatherer.take_malformed_list(line);
            return Ok(());
        }
        self.gatherer.take_partial(types, &object.metadata, line);
        let of_items = types.of_items();
        for item in deferred {
            take(self.gatherer, &item.json, Some(&of_items), item.line, self.depth)?;
        }
        Ok(())
    }

    /// Takes the items of a list; `types` are those of its items, if known. Returns the items that wait for them.
    fn read_items(&mut self, types: Option<&Types>) -> Result<Vec<Deferred>, InputError> {
        let (mut deferred, mut size) = (Vec::new(), 0);
        let limits = self.gatherer.limits;
        let mut goes_on = self.source.begin(b']')?;
        while goes_on {
            let (line, json) = self.source.value()?;
            if !take(self.gatherer, json, types, line, self.depth)? {
                size += json.len();
                if size > limits.object.saturating_mul(DEFERRED) || deferred.len() >= limits.unreadable {
                    return Err(self.gatherer.place(line).content(LATE_TYPE));
                }
                deferred.push(Deferred {
                    json: json.into(),
                    line,
                });
            }
            goes_on = self.source.goes_on(b']')?;
        }
        Ok(deferred)
    }
}

/// Takes an object, or those of a list within a list. `of_list` is the type of the list's items, if known. Returns
/// `false`, and takes nothing, if the list can still tell a part of the object's type.
fn take(
    gatherer: &mut Gatherer<'_>,
    json: &str,
    of_list: Option<&Types>,
    line: usize,
    depth: usize,
) -> Result<bool, InputError> {
    gatherer.count += 1;
    let parts = lenient::parts(json);
    let object_types = Types::of(&parts);
    let items = parts.get("items").map(|items| items.get());
    let has_items = items.is_some_and(|items| items.starts_with('[') || items == "null");
    if json.starts_with('[') || object_types.is_list() && has_items {
        take_nested(gatherer, json, line, depth)?;
    } else if object_types.is_surely_list() {
        gatherer.take_malformed_list(line);
    } else if of_list.is_none() && object_types.is_incomplete() {
        return Ok(false);
    } else {
        let types = object_types.or(of_list);
        if json.starts_with('{') {
            gatherer.take_object(&types, json, line);
        } else {
            gatherer.not_an_object(&types, line);
        }
    }
    gatherer.check_limits(line).map(|()| true)
}

fn take_nested(gatherer: &mut Gatherer<'_>, json: &str, line: usize, depth: usize) -> Result<(), InputError> {
    if depth + 1 >= DEEPEST {
        gatherer.take_malformed_list(line);
        return Ok(());
    }
    let file = gatherer.file();
    let place = FilePlace { file: &file, line };
    ValueReader {
        source: &mut DumpSource::new(json.as_bytes(), place, gatherer.limits),
        gatherer,
        yaml_end: None,
        depth: depth + 1,
    }
    .read()
}

/// An object at the top of a document, without the items of a list.
#[derive(Default)]
struct DumpObject {
    types: Types,
    metadata: String,
    /// Its fields as JSON, without the braces.
    fields: String,
}

impl DumpObject {
    /// Adds a field. `quoted` is its key as it is in the file.
    fn add(&mut self, key: &str, quoted: &str, json: &str) {
        let text = || serde_json::from_str(json).unwrap_or_default();
        match key {
            "apiVersion" => self.types.api_version = text(),
            "kind" => self.types.kind = text(),
            "metadata" => json.clone_into(&mut self.metadata),
            _ => {}
        }
        if !self.fields.is_empty() {
            self.fields.push(',');
        }
        self.fields.extend([quoted, ":", json]);
    }
}
