//! One line of the file.

use std::fmt;

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};

use super::change::Change;
use crate::{
    api::ClusterProfile,
    evidence::{Gap, Header, Namespace, Origin, Probe, Request, Secret, Unreadable, Window},
};

/// How every evidence file begins, white space aside: the header is first, and so is the format within it.
pub(in crate::evidence) const OPENING: &str = r#"{"header":{"format":"conformance.clusterprofile/evidence/"#;

/// A record to write.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line<'a> {
    Header(&'a Header),
    Gap(&'a Gap),
    Unreadable(&'a Unreadable),
    Namespace(&'a Namespace),
    Secret(&'a Secret),
    Probe(&'a Probe),
    Profile(FirstLine<'a>),
    Change(Box<Change>),
    Gone(Gone),
    Requests(Covers),
    Request(&'a Request),
    End {},
}

/// A record that was read.
pub(super) enum Record {
    Header(Box<Header>),
    Gap(Gap),
    Unreadable(Unreadable),
    Namespace(Namespace),
    Secret(Secret),
    Probe(Probe),
    Profile(Box<First>),
    Change(Box<Change>),
    Gone(Gone),
    Requests(Covers),
    Request(Request),
    End,
    Unknown(String),
}

/// A profile's first version, to write.
#[derive(Serialize)]
pub(super) struct FirstLine<'a> {
    pub at: Timestamp,
    pub origin: Origin,
    pub profile: &'a ClusterProfile,
}

/// A profile's first version, as read.
#[derive(Deserialize)]
pub(super) struct First {
    pub at: Timestamp,
    pub origin: Origin,
    pub profile: ClusterProfile,
}

/// When a profile was seen to be gone.
#[derive(Serialize, Deserialize)]
pub(super) struct Gone {
    pub at: Timestamp,
}

/// The span that the audit log covers.
#[derive(Serialize, Deserialize)]
pub(super) struct Covers {
    pub covers: Window,
}

/// By hand, because a derived reading refuses kinds that it does not know.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneKey;

        impl<'de> Visitor<'de> for OneKey {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one key, which names the record's kind")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Record, M::Error> {
                let kind: String = map
                    .next_key()?
                    .ok_or_else(|| M::Error::custom("a record without a kind"))?;
                let record = match kind.as_str() {
                    "header" => Record::Header(map.next_value()?),
                    "gap" => Record::Gap(map.next_value()?),
                    "unreadable" => Record::Unreadable(map.next_value()?),
                    "namespace" => Record::Namespace(map.next_value()?),
                    "secret" => Record::Secret(map.next_value()?),
                    "probe" => Record::Probe(map.next_value()?),
                    "profile" => Record::Profile(map.next_value()?),
                    "change" => Record::Change(map.next_value()?),
                    "gone" => Record::Gone(map.next_value()?),
                    "requests" => Record::Requests(map.next_value()?),
                    "request" => Record::Request(map.next_value()?),
                    "end" => {
                        map.next_value::<IgnoredAny>()?;
                        Record::End
                    }
                    _ => {
                        map.next_value::<IgnoredAny>()?;
                        Record::Unknown(kind)
                    }
                };
                match map.next_key::<String>()? {
                    Some(second) => Err(M::Error::custom(format_args!("a second key, `{second}`"))),
                    None => Ok(record),
                }
            }
        }

        deserializer.deserialize_map(OneKey)
    }
}
