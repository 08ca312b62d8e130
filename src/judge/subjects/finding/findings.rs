//! What a rule found, so that what it found in two parts of the evidence can be added.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use evidence::{Awaited, ObjectKey, ObjectRef, Reason};
use jiff::SignedDuration;

use super::{
    Finding,
    bounded::{Bounded, Unlisted},
};
use crate::{reasons::nothing_happened, time::Micros};

/// What one rule examined and found in some evidence.
///
/// What two parts of the evidence give can be added: see [`Findings::absorb`]. So nothing that depends on the whole is
/// decided before [`Findings::conclude`]: what counts only if nothing was examined, how many profiles a note is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How many things (mostly objects) were examined.
    pub examined: usize,
    found: Bounded,
    doubts: Vec<Doubt>,
    not_asked: Option<Reason>,
    not_applicable: Option<NotApplicable>,
    notes: Vec<Note>,
    short: BTreeMap<String, Short>,
    /// The objects with a fault that was open at the end and not yet older than its grace.
    open: Awaited,
}

/// What a rule examined and found in all of its evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// How many things (mostly objects) were examined.
    pub examined: usize,
    /// The first violations and hints, in their order.
    pub list: Vec<Finding>,
    /// How many more there are.
    pub unlisted: Unlisted,
    /// Why the evidence was insufficient, each cause once.
    pub doubts: Vec<Reason>,
    /// The necessary evidence that was not requested, if so. Counts only if nothing was examined.
    pub not_asked: Option<Reason>,
    /// Why the rule does not apply to anything, if so. Counts only if nothing was examined.
    pub not_applicable: Option<Reason>,
    /// Remarks for the report, such as which evidence was used.
    pub notes: Vec<Reason>,
}

/// When a doubt or a note counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    NothingExamined,
    NothingFound,
}

/// Why the evidence was insufficient.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Doubt {
    when: When,
    reason: Reason,
}

/// Why a rule does not apply to anything.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NotApplicable {
    reason: Reason,
    /// How many others were given before it: the later, the more exact.
    rank: usize,
}

/// A remark for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    when: When,
    text: Reason,
}

/// The faults with one message that lasted no longer than the grace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Short {
    first: ObjectRef,
    longest: Micros,
    count: usize,
}

impl Findings {
    /// Counts one thing as examined.
    pub fn examine(&mut self) {
        self.examined += 1;
    }

    /// The first violations and hints, in their order.
    pub fn list(&self) -> &[Finding] {
        self.found.list()
    }

    /// Adds a violation or a hint. If too many of its sort are listed, it is counted only.
    pub fn report(&mut self, finding: Finding) {
        self.found.push(finding);
    }

    /// Records why the evidence is insufficient.
    pub fn cannot_tell(&mut self, reason: impl Into<Reason>) {
        self.doubt(When::Always, reason.into());
    }

    /// Records why the evidence is insufficient if nothing is examined in the end.
    pub(crate) fn cannot_tell_unless_examined(&mut self, reason: impl Into<Reason>) {
        self.doubt(When::NothingExamined, reason.into());
    }

    /// Records why the evidence is insufficient if no violation is found in the end.
    pub(crate) fn cannot_tell_unless_found(&mut self, reason: impl Into<Reason>) {
        self.doubt(When::NothingFound, reason.into());
    }

    fn doubt(&mut self, when: When, reason: Reason) {
        let doubt = Doubt { when, reason };
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Records that a slice has a fault that was open at the end.
    pub(crate) fn wait_for_slice(&mut self, slice: &ObjectRef) {
        self.open.slices.insert(ObjectKey::from(slice));
    }

    /// Records that a profile of that name, which may be missing, had a part in a fault that was open at the end.
    pub(crate) fn wait_for_profile(&mut self, namespace: &str, name: &str) {
        self.open.profiles.insert(ObjectKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        });
    }

    /// The objects with a fault that was open at the end.
    pub(crate) fn open(&self) -> &Awaited {
        &self.open
    }

    /// Records which necessary evidence was not requested. Counts only if nothing was examined.
    pub fn not_asked(&mut self, evidence: impl Into<Reason>) {
        self.not_asked = Some(evidence.into());
    }

    /// Records why the rule does not apply to anything, as the evidence shows: what it is about is absent. Counts only if
    /// nothing was examined. A later reason is a more exact one.
    pub fn not_applicable(&mut self, reason: impl Into<Reason>) {
        let reason = reason.into();
        let rank = match &self.not_applicable {
            Some(before) if before.reason == reason => before.rank,
            Some(before) => before.rank + 1,
            None => 0,
        };
        self.not_applicable = Some(NotApplicable { reason, rank });
    }

    /// Records that nothing happened, or nothing was asked, that the rule judges. Counts as [`Findings::not_applicable`] does,
    /// but does not show that the rule does not apply: it was not judged.
    pub(crate) fn nothing_happened(&mut self, words: impl Into<Cow<'static, str>>) {
        self.not_applicable(nothing_happened(words));
    }

    /// Adds a remark for the report.
    pub fn note(&mut self, remark: impl Into<Reason>) {
        self.add_note(Note {
            when: When::Always,
            text: remark.into(),
        });
    }

    /// Remarks that a fault lasted no longer than the grace.
    pub(crate) fn note_short(&mut self, fault: &Finding, length: Micros) {
        let short = Short {
            first: fault.object.clone(),
            longest: length,
            count: 1,
        };
        self.add_short(fault.message.clone(), short);
    }

    fn add_short(&mut self, message: String, short: Short) {
        match self.short.entry(message) {
            Entry::Vacant(entry) => _ = entry.insert(short),
            Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.longest = known.longest.max(short.longest);
                known.count += short.count;
            }
        }
    }

    fn add_note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what the rule found in another part of the evidence, which comes after this one.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.examined += other.examined;
        self.found.append(other.found);
        for Doubt { when, reason } in other.doubts {
            self.doubt(when, reason);
        }
        self.not_asked = other.not_asked.or(self.not_asked.take());
        let rank = |told: &Option<NotApplicable>| told.as_ref().map(|told| told.rank);
        if rank(&other.not_applicable) > rank(&self.not_applicable) {
            self.not_applicable = other.not_applicable;
        }
        for note in other.notes {
            self.add_note(note);
        }
        for (message, short) in other.short {
            self.add_short(message, short);
        }
        self.open.profiles.extend(other.open.profiles);
        self.open.slices.extend(other.open.slices);
    }

    /// Decides what depends on all of the evidence.
    pub fn conclude(self) -> Conclusion {
        let examined = self.examined;
        let counts = |when: When| match when {
            When::Always => true,
            When::NothingExamined => examined == 0,
            When::NothingFound => self.found.list().is_empty(),
        };
        let mut doubts: Vec<Reason> = Vec::new();
        for doubt in self.doubts.into_iter().filter(|doubt| counts(doubt.when)) {
            if !doubts.contains(&doubt.reason) {
                doubts.push(doubt.reason);
            }
        }
        let notes = self.notes.into_iter();
        let notes = notes.filter_map(|Note { when, text }| counts(when).then_some(text));
        let short = self.short.into_iter().map(|(message, short)| {
            let others = match short.count {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let told = format!(
                "{}{others}: {message}, but for no longer than {}, within the grace of 2 min",
                short.first,
                Length(short.longest)
            );
            Reason::from(told)
        });
        Conclusion {
            examined,
            doubts,
            not_asked: self.not_asked,
            not_applicable: self.not_applicable.map(|told| told.reason),
            notes: notes.chain(short).collect(),
            unlisted: self.found.unlisted(),
            list: self.found.into_list(),
        }
    }
}

/// A length of time for people, such as `15 min 20 s`.
pub(crate) struct Length(pub(crate) Micros);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = SignedDuration::from_micros(self.0).as_secs();
        match (seconds / 60, seconds % 60) {
            (0, seconds) => write!(f, "{seconds} s"),
            (minutes, 0) => write!(f, "{minutes} min"),
            (minutes, seconds) => write!(f, "{minutes} min {seconds} s"),
        }
    }
}
