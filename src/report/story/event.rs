//! A story, as formats tell it.

use evidence::redact::without_credentials;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{escape, number::count};

/// How many characters of a value, a name or a reason are kept.
const LONGEST: usize = 120;

/// How an object came to what a finding says of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Story {
    /// What happened, in the order of time.
    pub events: Vec<Event>,
    /// What the evidence does not show, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One event, or several that are told as one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// When, by the runner's clock; absent in a dump, which has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<evidence::json_schema::Time>")]
    pub at: Option<Timestamp>,
    /// When it ended, if it took time: the last of several writes, the end of a step or of a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<evidence::json_schema::Time>")]
    pub until: Option<Timestamp>,
    pub what: What,
    /// Who did it: the users of the audit log, or else the field managers. Of an object that was listed: the field
    /// managers that own the finding's field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// The object's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The driver's step, the way to the member, or why nobody watched.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The fields that changed, at most six.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
    /// How many more fields changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changed: usize,
    /// How many events it stands for, if it stands for several.
    #[serde(skip_serializing_if = "is_one")]
    pub count: usize,
    /// Whether it set the finding's field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sets_field: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// The first list showed the object.
    Listed,
    /// The watch saw its creation.
    Created,
    /// A later list showed it, after the watch was lost.
    Relisted,
    /// It was written.
    Changed,
    /// It was deleted.
    Deleted,
    /// Its member answered for the first time, or otherwise than before.
    Member,
    /// The driver acted.
    Step,
    /// Nobody watched.
    Unwatched,
    /// Events are left out.
    LeftOut,
}

/// A field that changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Changed {
    /// The field.
    pub path: String,
    /// Its value before, shortened and without credentials; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Its value after, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Event {
    /// An event without particulars.
    pub(super) fn of(what: What) -> Self {
        Self {
            at: None,
            until: None,
            what,
            by: Vec::new(),
            resource_version: String::new(),
            detail: String::new(),
            changed: Vec::new(),
            more_changed: 0,
            count: 1,
            sets_field: false,
        }
    }

    /// Says what happened, with `quote` around what comes from the hub.
    pub(crate) fn in_words(&self, quote: impl Fn(&str) -> String) -> String {
        let by: Vec<String> = self.by.iter().map(|name| quote(name)).collect();
        let by = by.join(", ");
        let by_whom = |verb: &str| match &*by {
            "" => verb.to_owned(),
            by => format!("{verb} by {by}"),
        };
        let detail = || quote(&self.detail);
        match self.what {
            What::Listed | What::Relisted => {
                let listed = if self.what == What::Listed {
                    "first listed"
                } else {
                    "listed after a gap in the watch"
                };
                match &*by {
                    "" => listed.to_owned(),
                    by => format!("{listed}; {by} owns the field"),
                }
            }
            What::Created => by_whom("created"),
            What::Deleted => by_whom("deleted"),
            What::Changed if self.changed.is_empty() => {
                by_whom(&format!("{} that changed no field", self.writes()))
            }
            What::Changed if self.count > 1 => by_whom(&format!("{} of times alone", self.writes())),
            What::Changed => by_whom("changed"),
            What::Member => format!("member answered ({})", detail()),
            What::Step => format!("driver: {}", detail()),
            What::Unwatched => format!("not watched: {}", detail()),
            What::LeftOut => count(self.count, "more event"),
        }
    }

    fn writes(&self) -> String {
        count(self.count, "write")
    }
}

/// What is kept of a text: without credentials, and shortened.
pub(super) fn kept(text: &str) -> String {
    let clean = without_credentials(text);
    match escape::cut(&clean, LONGEST) {
        Some((beginning, rest)) => format!("{beginning}{rest}"),
        None => clean.into_owned(),
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_one(number: &usize) -> bool {
    *number == 1
}
