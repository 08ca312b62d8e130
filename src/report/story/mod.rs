//! How an object came to what a finding says of it: its versions, who wrote them and what they changed, with its member's
//! answers, the driver's steps, and the calls of a consumer.
//!
//! Everything is read from the evidence, without credentials and bounded. Text is as the hub has it: each format escapes
//! it.

mod choose;
mod gather;
mod testbed;
#[cfg(test)]
mod tests;

use evidence::{
    Evidence, Requested, Tracked,
    api::{ClusterProfile, PlacementDecision, names},
    redact::without_credentials,
};
use jiff::Timestamp;
use judge::{RuleVerdict, WriterNames, rules::Finding};
use schemars::JsonSchema;
use serde::Serialize;

use self::gather::Gathered;
pub(crate) use self::gather::named;
use crate::{
    summary::findings::alike,
    text::{count, escape, thousands},
};

/// The most stories for a rule.
const STORIES: usize = 8;

pub(crate) struct Stories<'e> {
    evidence: &'e Evidence,
    authors: WriterNames<'e>,
}

impl<'e> Stories<'e> {
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            authors: WriterNames::of(evidence),
        }
    }

    /// How the object of a finding came to what the finding says; `None` for other kinds than profiles and slices, and
    /// for an object that the run did not see.
    pub(crate) fn of_finding(&self, finding: &Finding) -> Option<Story> {
        match &*finding.object.kind {
            names::KIND => self.story::<ClusterProfile>(finding),
            names::PLACEMENT_KIND => self.story::<PlacementDecision>(finding),
            _ => None,
        }
    }

    fn story<T: Tracked + Serialize>(&self, finding: &Finding) -> Option<Story> {
        let gathered = Gathered::of::<T>(self.evidence, &self.authors, finding)?;
        let note = gathered
            .is_one_version()
            .then(|| match self.evidence.requested(T::WATCHED) {
                Requested::Yes => "The run watched the object and saw no change.",
                Requested::No(_) => "The run read the object once, so nothing is known of earlier versions.",
            });
        Some(Story {
            events: gathered.events(),
            note: note.map(str::to_owned),
        })
    }
}

/// The findings of a rule whose stories reports show, so that a report stays small: the first of each kind, those that
/// are not waived first.
pub(crate) fn representatives(verdict: &RuleVerdict) -> Vec<&Finding> {
    let waived = verdict.waived.iter().map(|(finding, _)| finding);
    let groups = alike(&verdict.findings).into_iter().chain(alike(waived));
    groups.map(|group| group.findings[0]).take(STORIES).collect()
}

/// How many characters of a value, a name or a reason are kept.
const LONGEST: usize = 120;

/// Of a longer text, in bytes, only the length is shown: every story would search it for credentials.
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

/// One event, or several that are shown as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// When, by the runner's clock; absent in a dump, which has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// When it ended, if it took time: the last of several writes, the end of a step or of a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    pub what: What,
    /// The author: the users of the audit log, or else the field managers. For an object that was listed: the field
    /// managers that own the finding's field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// The object's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The driver's step, the testbed's action, the access to the member, the call, or why there was no watch.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The first six fields that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
    /// How many more fields changed.
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub more_changed: usize,
    /// How many events it represents, if several.
    #[serde(skip_serializing_if = "is_one")]
    pub count: usize,
    /// Whether it set the finding's field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sets_field: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// The first list showed the object.
    Listed,
    /// The watch saw its creation.
    Created,
    /// A later list showed it, after the watch was lost.
    Relisted,
    /// It was written.
    #[default]
    Changed,
    /// It was deleted.
    Deleted,
    /// Its member answered for the first time, or not as before.
    Member,
    /// The driver acted.
    Step,
    /// The testbed acted: a scenario, a hook, an end of connections.
    Staged,
    /// The consumer called the member.
    Called,
    /// The consumer ran the credential plugin for the member.
    Plugin,
    /// The watch was interrupted.
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
    fn of(what: What) -> Self {
        Self {
            what,
            count: 1,
            ..Self::default()
        }
    }

    /// Describes the event, with `quote` around text from the hub.
    pub(crate) fn describe(&self, quote: impl Fn(&str) -> String) -> String {
        let verb = self.verb();
        let quoted = match &*self.detail {
            "" => self.by.join(", "),
            detail => detail.to_owned(),
        };
        if quoted.is_empty() {
            return verb;
        }
        let quoted = quote(&quoted);
        match self.what {
            What::Listed | What::Relisted => format!("{verb}; {quoted} owns the field"),
            What::Created | What::Changed | What::Deleted => format!("{verb} by {quoted}"),
            What::Member => format!("{verb} ({quoted})"),
            _ => format!("{verb}: {quoted}"),
        }
    }

    /// Describes the event without text from the hub.
    fn verb(&self) -> String {
        let writes = || count(self.count, "write");
        let verb = match self.what {
            What::Listed => "first listed",
            What::Relisted => "listed after a gap in the watch",
            What::Created => "created",
            What::Deleted => "deleted",
            What::Changed if self.changed.is_empty() => {
                return format!("{} that changed no field", writes());
            }
            What::Changed if self.count > 1 => return format!("{} of times alone", writes()),
            What::Changed => "changed",
            What::Member => "member answered",
            What::Step => "driver",
            What::Staged => "testbed",
            What::Called if self.count > 1 => return format!("consumer called {} times, last", self.count),
            What::Called => "consumer called",
            What::Plugin if self.count > 1 => return format!("plugin ran {} times, last", self.count),
            What::Plugin => "plugin ran",
            What::Unwatched => "not watched",
            What::LeftOut => return count(self.count, "more event"),
        };
        verb.to_owned()
    }
}

/// A text without credentials, shortened.
fn clean(text: &str) -> String {
    if text.len() > SEARCHED {
        return size(text);
    }
    let clean = without_credentials(text);
    match escape::cut(&clean, LONGEST) {
        Some((beginning, rest)) => format!("{beginning}{rest}"),
        None => clean.into_owned(),
    }
}

/// The beginning of a value in one line. Its texts have no credentials, but a key may be one.
fn beginning(line: &str) -> String {
    let searched: String = line.chars().take(4 * LONGEST).collect();
    let clean = without_credentials(&searched);
    let Some((start, _)) = escape::cut(&clean, LONGEST) else {
        return clean.into_owned();
    };
    let more = line.chars().count().saturating_sub(LONGEST);
    format!("{start}… {} more characters", thousands(more))
}

/// Shows the length of a text instead of the text.
fn size(text: &str) -> String {
    format!("({})", count(text.len(), "byte"))
}

fn is_one(number: &usize) -> bool {
    *number == 1
}
