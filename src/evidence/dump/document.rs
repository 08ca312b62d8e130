//! Reads the documents of a file: a visitor hands the items of a list over one by one, as JSON.

use std::{
    fmt::{self, Write as _},
    io::{BufReader, Read},
    marker::PhantomData,
};

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Spanned};

use super::{
    gather::{Gatherer, Types},
    source::{CUT_SHORT, Progress, Source},
    transcode::Transcoded,
};
use crate::{InputError, lenient, read::input::FilePlace};

const DEEPEST: usize = 8;

/// The size of the buffer between the source and serde_json, in bytes.
const PIECE: usize = 1024;

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
    let read = read_documents(reader, file, gatherer);
    // What is wrong with an object before the place at which the parser stopped counts first.
    gatherer.end_file()?;
    read
}

fn read_documents(
    reader: impl Read,
    file: &str,
    gatherer: &mut Gatherer<'_>,
) -> Result<(u64, bool), InputError> {
    let progress = Progress::default();
    let mut source = Source::new(reader, file, gatherer.limits, &progress);
    gatherer.begin_file(file);
    while source.next_document() {
        gatherer.count += 1;
        match source.first_byte()? {
            None => {}
            Some(b'{' | b'[') => json(&mut source, &progress, gatherer)?,
            Some(_) => {
                gatherer.documents += 1;
                yaml(&mut source, &progress, gatherer)?;
            }
        }
        gatherer.check_limits(progress.line())?;
    }
    Ok((source.size, source.is_blank))
}

fn json(
    source: &mut Source<'_, impl Read>,
    progress: &Progress,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), InputError> {
    let begins = source.place();
    // serde_json asks for single bytes. The source hands out a line at most, so that places stay right.
    let buffered = BufReader::with_capacity(PIECE, &mut *source);
    let mut deserializer = serde_json::Deserializer::from_reader(buffered);
    let read = loop {
        progress.begin_object();
        let reading = Reading {
            gatherer,
            progress,
            begins: None,
            depth: 0,
        };
        if let Err(error) = reading.document::<Box<RawValue>, _>(&mut deserializer) {
            break Err(error);
        }
        match deserializer.end() {
            // Another value follows.
            Err(error) if error.is_syntax() => {}
            end => break end,
        }
    };
    let Err(error) = read else { return Ok(()) };
    if let Some(why) = gatherer.stop.take().or(source.failure.take()) {
        return Err(why);
    }
    let at = |line| FilePlace { line, ..begins };
    if error.is_eof() {
        return Err(at(progress.last_line()).content(CUT_SHORT));
    }
    let column = error.column().max(1);
    let place = at(begins.line + error.line() - 1);
    Err(syntax(place, column, "JSON", without_place(&error.to_string())))
}

/// Reads a document of YAML like kubectl: `yes` and `on` are text. The limits of the file bound its size.
fn yaml(
    source: &mut Source<'_, impl Read>,
    progress: &Progress,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), InputError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // A snippet would show values, which may be secrets.
        with_snippet: false,
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
        },
    };
    let begins = source.place();
    let reading = Reading {
        gatherer,
        progress,
        begins: Some(begins.line),
        depth: 0,
    };
    let read =
        serde_saphyr::with_deserializer_from_reader_with_options(&mut *source, options, |deserializer| {
            reading.document::<Spanned<Transcoded>, _>(deserializer)
        });
    let Err(error) = read else { return Ok(()) };
    if let Some(why) = gatherer.stop.take().or(source.failure.take()) {
        return Err(why);
    }
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
    if progress.is_cut.get() && place.line >= progress.last_line() {
        message += " (it ends there: was kubectl interrupted?)";
    }
    Err(syntax(place, column.max(1), "YAML", &message))
}

/// The error for text that cannot be parsed. The column counts from 1.
fn syntax(place: FilePlace<'_>, column: usize, language: &str, message: &str) -> InputError {
    place.content(format_args!(
        ":{column} is not valid {language}: {message}; correct the file, or dump again"
    ))
}

fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |at| &message[..at])
}

/// Removes quotes of the file, which may be secrets.
fn without_quotes(message: &str) -> String {
    let parts = message.split(['"', '`']).enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { "…" } else { part })
        .collect()
}

struct Reading<'r, 'd> {
    gatherer: &'r mut Gatherer<'d>,
    progress: &'r Progress,
    /// The line at which it begins, if the parser reads ahead of what it hands over.
    begins: Option<usize>,
    depth: usize,
}

impl Reading<'_, '_> {
    fn document<'de, P: Part, D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        let content = Content::<P> {
            reading: &mut self,
            items: None,
            part: PhantomData,
        };
        if let Parsed::Other = content.deserialize(deserializer)? {
            let line = self.line();
            self.gatherer.not_an_object(&Types::default(), line);
        }
        Ok(())
    }

    fn line(&self) -> usize {
        self.begins.unwrap_or_else(|| self.progress.line())
    }

    /// Takes an object, or those of a list within a list. `of_list` is the type of the list's items, if known. Returns
    /// `false`, and takes nothing, if the list can still tell a part of the object's type.
    fn take(&mut self, json: &str, of_list: Option<&Types>, line: usize) -> Result<bool, InputError> {
        self.gatherer.count += 1;
        let parts = lenient::parts(json);
        let own = Types::of(&parts);
        let is_object = json.trim_ascii_start().starts_with('{');
        let items = parts.get("items").map(|items| items.get());
        let has_items = items.is_some_and(|items| items.starts_with('[') || items == "null");
        if json.trim_ascii_start().starts_with('[') || own.is_list() && has_items {
            self.take_nested(json, line)?;
        } else if own.is_surely_list() {
            self.gatherer.take_malformed_list(line);
        } else if of_list.is_none() && own.is_incomplete() {
            return Ok(false);
        } else {
            let types = own.or(of_list);
            if is_object {
                self.gatherer.take_object(&types, json, line);
            } else {
                self.gatherer.not_an_object(&types, line);
            }
        }
        self.gatherer.check_limits(line).map(|()| true)
    }

    fn take_nested(&mut self, json: &str, line: usize) -> Result<(), InputError> {
        if self.depth + 1 >= DEEPEST {
            self.gatherer.take_malformed_list(line);
            return Ok(());
        }
        let nested = Reading {
            gatherer: &mut *self.gatherer,
            progress: self.progress,
            begins: Some(line),
            depth: self.depth + 1,
        };
        let read = nested.document::<Box<RawValue>, _>(&mut serde_json::Deserializer::from_str(json));
        let Err(error) = read else { return Ok(()) };
        if let Some(why) = self.gatherer.stop.take() {
            return Err(why);
        }
        let place = self.gatherer.place(line);
        let message = error.to_string();
        Err(syntax(
            place,
            error.column().max(1),
            "JSON",
            without_place(&message),
        ))
    }
}

/// Reads an object, an array or a list, or the items of a list.
struct Content<'v, 'r, 'd, P> {
    reading: &'v mut Reading<'r, 'd>,
    /// For the items of a list: their type, if the list has named it by now.
    items: Option<Option<Types>>,
    part: PhantomData<P>,
}

enum Parsed {
    /// An object, items, or nothing; with the items that are kept back until their list has told its type.
    Taken(Vec<Deferred>),
    Other,
}

struct Deferred {
    json: Box<str>,
    line: usize,
}

impl<P: Part> Content<'_, '_, '_, P> {
    /// Stops the parser with an error that it does not know.
    fn stop<E: serde::de::Error>(&mut self, why: InputError) -> E {
        self.reading.gatherer.stop = Some(why);
        E::custom("stopped")
    }

    fn end(&mut self, object: Object, items: Option<Parsed>, line: usize) -> Result<(), InputError> {
        let reading = &mut *self.reading;
        let types = &object.types;
        let is_cut = types.is_cut() || !types.is_list() && reading.progress.is_cut.get();
        let Some(Parsed::Taken(deferred)) = items else {
            let whole = format!("{{{}}}", object.fields);
            return reading.take(&whole, Some(&Types::default()), line).map(|_| ());
        };
        if P::CAN_BE_CUT && is_cut {
            let last = reading.gatherer.place(reading.progress.last_line());
            return Err(last.content(CUT_SHORT));
        }
        if !types.is_list() {
            reading.gatherer.take_malformed_list(line);
            return Ok(());
        }
        reading.gatherer.take_partial(types, &object.metadata, line);
        let of_items = types.of_items();
        deferred
            .iter()
            .try_for_each(|item| reading.take(&item.json, Some(&of_items), item.line).map(|_| ()))
    }
}

impl<'de, P: Part> DeserializeSeed<'de> for Content<'_, '_, '_, P> {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Part> Visitor<'de> for Content<'_, '_, '_, P> {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Taken(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Parsed, E> {
        Ok(Parsed::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Parsed, E> {
        Ok(Parsed::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Parsed, E> {
        Ok(Parsed::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Parsed, E> {
        Ok(Parsed::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Parsed, E> {
        Ok(Parsed::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Parsed, A::Error> {
        let types = self.items.take().unwrap_or_else(|| Some(Types::default()));
        let (mut deferred, mut size) = (Vec::new(), 0);
        loop {
            self.reading.progress.begin_object();
            let Some((json, line)) = items.next_element_seed(Placed::<P>(self.reading, PhantomData))? else {
                return Ok(Parsed::Taken(deferred));
            };
            match self.reading.take(&json, types.as_ref(), line) {
                Ok(true) => {}
                Ok(false) => {
                    size += json.len();
                    let limits = &self.reading.gatherer.limits;
                    if size > limits.object.saturating_mul(DEFERRED) || deferred.len() >= limits.unreadable {
                        let why = self.reading.gatherer.place(line).content(LATE_TYPE);
                        return Err(self.stop(why));
                    }
                    deferred.push(Deferred { json, line });
                }
                Err(why) => return Err(self.stop(why)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Parsed, A::Error> {
        if self.items.is_some() {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Parsed::Other);
        }
        let line = self.reading.line();
        let (mut object, mut items) = (Object::default(), None);
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" && object.types.is_list() {
                if items.is_some() {
                    return Err(A::Error::custom("duplicate field `items`"));
                }
                let types = Some(&object.types).filter(|types| !types.is_incomplete());
                let content = Content::<P> {
                    items: Some(types.map(Types::of_items)),
                    reading: &mut *self.reading,
                    part: PhantomData,
                };
                items = Some(map.next_value_seed(content)?);
                object.add(&key, "{}");
            } else {
                let (json, _) = map.next_value::<P>()?.into_json();
                object.add(&key, &json);
            }
        }
        self.end(object, items, line).map_err(|why| self.stop(why))?;
        Ok(Parsed::Taken(Vec::new()))
    }
}

/// An object at the top of a document, without the items of a list.
#[derive(Default)]
struct Object {
    types: Types,
    metadata: String,
    /// Its fields as JSON, without the braces.
    fields: String,
}

impl Object {
    fn add(&mut self, key: &str, json: &str) {
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
        let _ = write!(self.fields, "{}:{json}", Value::from(key));
    }
}

trait Part: DeserializeOwned {
    /// Whether a document that ends in the middle can be valid.
    const CAN_BE_CUT: bool;

    /// The JSON, and the line in the document, from 1, if the parser knows it.
    fn into_json(self) -> (Box<str>, Option<usize>);
}

impl Part for Box<RawValue> {
    const CAN_BE_CUT: bool = false;

    fn into_json(self) -> (Box<str>, Option<usize>) {
        (self.into(), None)
    }
}

impl Part for Spanned<Transcoded> {
    const CAN_BE_CUT: bool = true;

    fn into_json(self) -> (Box<str>, Option<usize>) {
        (self.value.0.into(), Some(self.referenced.line() as usize))
    }
}

struct Placed<'p, 'r, 'd, P>(&'p Reading<'r, 'd>, PhantomData<P>);

impl<'de, P: Part> DeserializeSeed<'de> for Placed<'_, '_, '_, P> {
    type Value = (Box<str>, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let begins = self.0.line();
        let (json, line) = P::deserialize(deserializer)?.into_json();
        Ok((json, begins + line.map_or(0, |line| line.saturating_sub(1))))
    }
}
