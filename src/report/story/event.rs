//! A story, as formats tell it.

use evidence::redact::without_credentials;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{
    escape,
    number::{count, thousands},
};

/// How many characters of a value, a name or a reason are kept.
const LONGEST: usize = 120;

/// A longer text, in bytes, is told by its length: every story would search it for credentials.
const SEARCHED: usize = 4096;

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
    /// The driver's step, what was staged, the way to the member, what was called, or why there was no watch.
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
    /// The run staged something for a consumer: a scene, a hook, an end of connections.
    Staged,
    /// The consumer called the member.
    Called,
    /// The consumer ran the credential plugin for the member.
    Plugin,
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
        let (verb, told) = (self.verb(), self.told());
        if told.is_empty() {
            return verb;
        }
        let told = quote(&told);
        match self.what {
            What::Listed | What::Relisted => format!("{verb}; {told} owns the field"),
            What::Created | What::Changed | What::Deleted => format!("{verb} by {told}"),
            What::Member => format!("{verb} ({told})"),
            What::Step | What::Staged | What::Called | What::Plugin | What::Unwatched | What::LeftOut => {
                format!("{verb}: {told}")
            }
        }
    }

    /// What happened, without what comes from the hub.
    pub(crate) fn verb(&self) -> String {
        let verb = match self.what {
            What::Listed => "first listed",
            What::Relisted => "listed after a gap in the watch",
            What::Created => "created",
            What::Deleted => "deleted",
            What::Changed if self.changed.is_empty() => {
                return format!("{} that changed no field", self.writes());
            }
            What::Changed if self.count > 1 => return format!("{} of times alone", self.writes()),
            What::Changed => "changed",
            What::Member => "member answered",
            What::Step => "driver",
            What::Staged => "staged",
            What::Called if self.count > 1 => return format!("consumer called {} times, last", self.count),
            What::Called => "consumer called",
            What::Plugin if self.count > 1 => return format!("plugin ran {} times, last", self.count),
            What::Plugin => "plugin ran",
            What::Unwatched => "not watched",
            What::LeftOut => return count(self.count, "more event"),
        };
        verb.to_owned()
    }

    /// Who did it, or what the evidence says of it: text from the hub.
    pub(crate) fn told(&self) -> String {
        if self.detail.is_empty() {
            self.by.join(", ")
        } else {
            self.detail.clone()
        }
    }

    fn writes(&self) -> String {
        count(self.count, "write")
    }
}

/// What is kept of a text: without credentials, and shortened.
pub(super) fn kept(text: &str) -> String {
    if let Some(told) = unread(text) {
        return told;
    }
    let clean = without_credentials(text);
    match escape::cut(&clean, LONGEST) {
        Some((beginning, rest)) => format!("{beginning}{rest}"),
        None => clean.into_owned(),
    }
}

/// The beginning of a value in one line, of which the texts alone are known to have no credentials: a key may be one, too.
pub(super) fn beginning(line: &str) -> String {
    let searched: String = line.chars().take(4 * LONGEST).collect();
    let clean = without_credentials(&searched);
    let Some((told, _)) = escape::cut(&clean, LONGEST) else {
        return clean.into_owned();
    };
    let more = line.chars().count().saturating_sub(LONGEST);
    format!("{told}… {} more characters", thousands(more))
}

/// What stands for a text that takes too long to be searched for credentials; none for others.
pub(super) fn unread(text: &str) -> Option<String> {
    (text.len() > SEARCHED).then(|| size(text))
}

/// Tells a text by its length.
pub(super) fn size(text: &str) -> String {
    format!("({})", count(text.len(), "byte"))
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_one(number: &usize) -> bool {
    *number == 1
}
