//! Reads the reviews of `kubectl auth`, which kubectl sends in protobuf only.

use serde_json::{Map, Value};

/// The media type of a body in protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

/// The known fields of a message: number, name, and the fields of the message in it. A field without any is a text.
struct Message(&'static [(u64, &'static str, Message)]);

const TEXT: Message = Message(&[]);
const TYPE: Message = Message(&[(1, "apiVersion", TEXT), (2, "kind", TEXT)]);
const RULES_REVIEW: Message = Message(&[(2, "spec", Message(&[(1, "namespace", TEXT)]))]);
const ACCESS_REVIEW: Message = Message(&[(
    2,
    "spec",
    Message(&[
        (
            1,
            "resourceAttributes",
            Message(&[
                (1, "namespace", TEXT),
                (2, "verb", TEXT),
                (3, "group", TEXT),
                (4, "version", TEXT),
                (5, "resource", TEXT),
                (6, "subresource", TEXT),
                (7, "name", TEXT),
            ]),
        ),
        (
            2,
            "nonResourceAttributes",
            Message(&[(1, "path", TEXT), (2, "verb", TEXT)]),
        ),
    ]),
)]);

/// Reads a review of what the requester may do, or `None` if it is not one.
pub(crate) fn read_self_review(body: &[u8]) -> Option<Value> {
    let envelope = fields(body.strip_prefix(MAGIC)?)?;
    let field = |number| {
        let mut fields = envelope.iter().filter(|(known, _)| *known == number);
        fields.next_back().map_or(&[][..], |(_, bytes)| bytes)
    };
    let mut object = read(&TYPE, field(1))?;
    let message = match object.get("kind")?.as_str()? {
        "SelfSubjectAccessReview" => ACCESS_REVIEW,
        "SelfSubjectRulesReview" => RULES_REVIEW,
        "SelfSubjectReview" => Message(&[]),
        _ => return None,
    };
    object.extend(read(&message, field(2))?);
    Some(object.into())
}

/// Reads the known fields of a message.
fn read(message: &Message, bytes: &[u8]) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    for (number, bytes) in fields(bytes)? {
        let Some((_, name, below)) = message.0.iter().find(|(known, ..)| *known == number) else {
            continue;
        };
        let value = match below.0 {
            [] => str::from_utf8(bytes).ok()?.into(),
            _ => Value::Object(read(below, bytes)?),
        };
        object.insert((*name).to_owned(), value);
    }
    Some(object)
}

/// Splits a message into fields: numbers, and bytes. A field that is a number has no bytes.
fn fields(mut rest: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let length = match (tag & 7, varint(&mut rest)?) {
            (0, _) => 0,
            (2, length) => usize::try_from(length).ok()?,
            _ => return None,
        };
        let (bytes, after) = rest.split_at_checked(length)?;
        fields.push((tag >> 3, bytes));
        rest = after;
    }
    Some(fields)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}
