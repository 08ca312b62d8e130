//! Reads the evidence file.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, Read},
};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    gather::Gathered,
    record::{self, First, MergePatch, Patch, Record},
};
use crate::{
    FORMAT, Input, InputError, LimitError, Limits, ObjectRef, Origin, Tracked,
    api::names,
    lenient,
    lenient::{Untyped, masked, without_values},
    read::input::FilePlace,
};

/// Reads an unpacked evidence file line by line. A truncated one is read up to the cut, with a [`Gap`](crate::Gap) for
/// each kind of evidence that may be incomplete. `name` is for messages. The reader bounds the whole and the ratio.
///
/// # Errors
/// When it cannot be read, is not an evidence file, exceeds a limit, or has a malformed line. A malformed object is not
/// an error but an [`Unreadable`](crate::Unreadable).
pub fn read_from(mut reader: impl BufRead, name: &str, limits: &Limits) -> Result<Input, InputError> {
    let mut buffer = Vec::new();
    let mut gathered = Gathered::default();
    let mut whole = 0;
    loop {
        let number = whole + 1;
        let place = FilePlace {
            file: name,
            line: number,
        };
        let line = next_line(&mut reader, &mut buffer, limits.object).map_err(|cause| place.unread(cause))?;
        let Some(line) = line else { break };
        if line.text.len() > limits.object {
            return Err(place.too_large(LimitError::Object(limits.object)));
        }
        if number > limits.count {
            return Err(place.too_large(LimitError::Count(limits.count)));
        }
        if number == 1 {
            check_format(line.text, place)?;
        }
        if line.text.trim_ascii().is_empty() {
            whole = number;
            continue;
        }
        let broken = |flaw| place.content(format_args!(": {flaw}"));
        match Line::parse(line.text) {
            Ok(line) => gathered.take(line, number).map_err(broken)?,
            // The writing run, or a copy of the file, ended in the middle of a line.
            Err(_) if line.cut && number > 1 => break,
            Err(flaw) => return Err(broken(flaw)),
        }
        if gathered.unreadable() > limits.unreadable {
            return Err(place.too_large(LimitError::Unreadable(limits.unreadable)));
        }
        whole = number;
    }
    match whole {
        0 => Err(no_header(FilePlace { file: name, line: 1 })),
        _ => Ok(gathered.finish(whole)),
    }
}

fn no_header(place: FilePlace<'_>) -> InputError {
    place.content(" is not the header of an evidence file")
}

struct RawLine<'a> {
    text: &'a [u8],
    /// True if the file ends before the line does.
    cut: bool,
}

/// The next line without its end; `None` at the end of the file. A line that is longer than `longest` is not read to
/// its end.
fn next_line<'a>(
    reader: &mut impl BufRead,
    buffer: &'a mut Vec<u8>,
    longest: usize,
) -> io::Result<Option<RawLine<'a>>> {
    buffer.clear();
    // With one byte more, and the line break.
    let most = (longest as u64).saturating_add(2);
    match reader.by_ref().take(most).read_until(b'\n', buffer) {
        Ok(_) => {}
        // A truncated packed file: the buffer holds what could be unpacked.
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(cause) => return Err(cause),
    }
    if buffer.is_empty() {
        return Ok(None);
    }
    let cut = buffer.pop_if(|byte| *byte == b'\n').is_none();
    Ok(Some(RawLine { text: buffer, cut }))
}

/// Checks the version first: the header of another version may have any shape.
fn check_format(line: &[u8], place: FilePlace<'_>) -> Result<(), InputError> {
    #[derive(Deserialize)]
    struct Head {
        header: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    let head: Head = serde_json::from_slice(line).map_err(|_| no_header(place))?;
    let format = head.header.format;
    if format == FORMAT {
        return Ok(());
    }
    Err(place.content(format_args!(
        ": the format is `{format}`, expected `{FORMAT}`: `ci/convert-evidence` of the repository converts older files"
    )))
}

/// How every evidence file begins, white space aside: with the header and its format.
const OPENING: &str = r#"{"header":{"format":"conformance.clusterprofile/evidence/"#;

/// Reads enough to recognize an evidence file; returns what it read, and whether it is one.
pub(crate) fn peek(reader: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    reader.take(256).read_to_end(&mut head)?;
    let bare: Vec<u8> = head
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let is_evidence = bare.starts_with(OPENING.as_bytes());
    Ok((head, is_evidence))
}

pub(super) struct Line {
    /// True if the record is in an `afterWindow`.
    pub is_after_window: bool,
    pub content: Content,
}

pub(super) enum Content {
    /// A record, and the place of its kind in the file.
    Record(usize, Box<Record<'static>>),
    /// A record of this kind, which the suite does not know.
    Unknown(String),
    /// A record of an object that does not have the shape of its kind.
    Unreadable {
        /// The object, as far as it is known; none for a later version of the object above.
        object: Option<ObjectRef>,
        message: String,
    },
}

/// A version of an object, with the object unread.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    at: Option<Timestamp>,
    #[serde(default)]
    origin: Option<Origin>,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl Line {
    /// Reads a line. The parts of an object are read by themselves, since they may nest as deep as on the hub.
    ///
    /// # Errors
    /// When it is not a record, or a malformed one that is not an object's.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        // Bytes that are not UTF-8 spoil the object around them.
        let text = masked(line);
        let (mut kind, mut content) = kind_and_content(&text)?;
        let is_after_window = kind == "afterWindow";
        if is_after_window {
            (kind, content) = kind_and_content(content)?;
        }
        let read = match text {
            Cow::Borrowed(_) => read_record(&kind, content),
            Cow::Owned(_) => Err("it is not UTF-8 text".to_owned()),
        };
        let content = match read {
            Ok(Some(record)) if !is_after_window || record.may_be_after_window() => {
                let place = if is_after_window { "afterWindow" } else { &kind };
                Content::Record(record::place(place), Box::new(record))
            }
            Ok(_) if is_after_window => Content::Unknown("afterWindow".to_owned()),
            Ok(_) => Content::Unknown(kind),
            Err(message) => match broken_object(&kind, content) {
                Some(object) => Content::Unreadable { object, message },
                None => return Err(message),
            },
        };
        Ok(Self {
            is_after_window,
            content,
        })
    }
}

/// The one key of a record, and its content.
fn kind_and_content(record: &str) -> Result<(String, &str), String> {
    let OneKey(kind, content) = parse(record)?;
    Ok((kind, content.get()))
}

/// An object with one key.
struct OneKey<'a>(String, &'a RawValue);

impl<'de> Deserialize<'de> for OneKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneEntry;

        impl<'de> Visitor<'de> for OneEntry {
            type Value = OneKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one key, the record's kind")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let entry = map.next_entry()?;
                let (kind, content) = entry.ok_or_else(|| M::Error::invalid_length(0, &self))?;
                match map.next_key::<IgnoredAny>()? {
                    None => Ok(OneKey(kind, content)),
                    Some(_) => Err(M::Error::invalid_length(2, &self)),
                }
            }
        }

        deserializer.deserialize_map(OneEntry)
    }
}

/// Reads a record; none if its kind is unknown.
fn read_record(kind: &str, content: &str) -> Result<Option<Record<'static>>, String> {
    let record = match kind {
        "profile" => Record::Profile(Box::new(first(content)?)),
        "placementDecision" => Record::PlacementDecision(Box::new(first(content)?)),
        "patch" => {
            let Raw { at, object, .. } = parse(content)?;
            let at = at.ok_or("missing field `at`")?;
            let object: MergePatch = parse(object.get())?;
            Record::Patch(Patch { at, object })
        }
        "namespace" => Record::Namespace(Cow::Owned(object(content)?)),
        "secret" => Record::Secret(Cow::Owned(object(content)?)),
        kind if !Record::is_kind(kind) => return Ok(None),
        kind => parse(&format!(r#"{{"{kind}":{content}}}"#))?,
    };
    Ok(Some(record))
}

fn first<T: Tracked>(content: &str) -> Result<First<'static, T>, String> {
    let raw: Raw<'_> = parse(content)?;
    Ok(First {
        at: raw.at,
        origin: raw.origin.ok_or("missing field `origin`")?,
        object: Cow::Owned(object(raw.object.get())?),
    })
}

/// The object of a record that cannot be read; none for a later version of the object above. `None` if the record is
/// not an object's, or even its object cannot be found: then the file is broken.
fn broken_object(kind: &str, content: &str) -> Option<Option<ObjectRef>> {
    let of_hub = |kind: &str| {
        let raw: Raw<'_> = parse(content).ok()?;
        let object = lenient::identity(Untyped::Text(raw.object.get().as_bytes()), kind);
        Some(Some(ObjectRef {
            kind: kind.to_owned(),
            ..object
        }))
    };
    let of_evidence = |kind| Some(Some(lenient::identity_in_evidence(content.as_bytes(), kind)));
    match kind {
        "profile" => of_hub(names::KIND),
        "placementDecision" => of_hub(names::PLACEMENT_KIND),
        "namespace" => of_evidence("Namespace"),
        "secret" => of_evidence("Secret"),
        "patch" => Some(None),
        _ => None,
    }
}

/// Reads an object. The error names the part that does not fit.
fn object<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    lenient::read(Untyped::Text(json.as_bytes()))
}

/// Parses JSON. The error leaves out the place, which counts from the part's start, and what it quotes: a misplaced
/// value may be a secret.
fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        without_values(&message[..end])
    })
}
