//! Reads the reviews of `kubectl auth`, which kubectl sends in protobuf only.

use serde_json::{Map, Value, json};

/// The media type of a body in protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

/// The texts in a message, in the order of their numbers, which start at 1.
const TYPE: [&str; 2] = ["apiVersion", "kind"];
const RULES_SPEC: [&str; 1] = ["namespace"];
const RESOURCE: [&str; 7] = [
    "namespace",
    "verb",
    "group",
    "version",
    "resource",
    "subresource",
    "name",
];
const NON_RESOURCE: [&str; 2] = ["path", "verb"];

/// Reads a review of what the requester may do, or `None` if it is not one.
pub(crate) fn read_self_review(body: &[u8]) -> Option<Value> {
    let envelope = fields(body.strip_prefix(MAGIC)?)?;
    let mut review = texts(field(&envelope, 1), &TYPE)?;
    let message = fields(field(&envelope, 2))?;
    let spec = field(&message, 2);
    review["spec"] = match review["kind"].as_str()? {
        "SelfSubjectReview" => Value::Null,
        "SelfSubjectRulesReview" => texts(spec, &RULES_SPEC)?,
        "SelfSubjectAccessReview" => {
            let mut attributes = json!({});
            for (number, bytes) in fields(spec)? {
                match number {
                    1 => attributes["resourceAttributes"] = texts(bytes, &RESOURCE)?,
                    2 => attributes["nonResourceAttributes"] = texts(bytes, &NON_RESOURCE)?,
                    _ => {}
                }
            }
            attributes
        }
        _ => return None,
    };
    Some(review)
}

/// Reads the texts of a message. Other fields are ignored.
fn texts(message: &[u8], names: &[&str]) -> Option<Value> {
    let mut object = Map::new();
    for (number, bytes) in fields(message)? {
        if let Some(name) = usize::try_from(number)
            .ok()
            .and_then(|number| names.get(number.checked_sub(1)?))
        {
            object.insert((*name).to_owned(), str::from_utf8(bytes).ok()?.into());
        }
    }
    Some(object.into())
}

/// The bytes of a field, none if it is missing. The last one counts.
fn field<'a>(fields: &[(u64, &'a [u8])], number: u64) -> &'a [u8] {
    let found = fields.iter().rfind(|(known, _)| *known == number);
    found.map_or(&[], |(_, bytes)| bytes)
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
