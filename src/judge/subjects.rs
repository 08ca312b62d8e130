//! What rules report: findings, and why the evidence is insufficient.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use evidence::{Awaited, ObjectKey, ObjectRef, Reason, api::ObjectKind};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    reasons::nothing_happened,
    rules::FindingWords,
    text::{listed, redacted_field},
    time::Micros,
};

/// What one rule examined and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How many things (mostly objects) were examined.
    pub examined: usize,
    pub(crate) list: Vec<Finding>,
    unknown: Vec<(WhenCounted, Reason)>,
    /// The required evidence that was not requested, if any. Counts only if nothing was examined.
    pub(crate) not_asked: Option<Reason>,
    /// Why the rule does not apply to anything, if so. Counts only if nothing was examined.
    pub(crate) not_applicable: Option<Reason>,
    notes: Vec<Reason>,
    /// The objects that the rule cannot judge, by reason.
    unknown_objects: Vec<(Reason, FirstOf)>,
    /// By message.
    short: BTreeMap<String, Short>,
    /// The objects with a violation that was open at the end and not yet older than its grace period.
    open: Awaited,
}

/// When a reason for insufficient evidence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenCounted {
    Always,
    NothingExamined,
    NothingFound,
}

/// Several objects, of which a report names the first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FirstOf {
    first: String,
    count: usize,
}

impl fmt::Display for FirstOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(&self.first),
            count => write!(f, "{} and {} more", self.first, count - 1),
        }
    }
}

/// The violations with one message that lasted no longer than the grace period.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Short {
    objects: FirstOf,
    longest: Micros,
    grace: Micros,
}

impl Findings {
    /// Counts one thing as examined.
    pub fn examine(&mut self) {
        self.examined += 1;
    }

    /// The violations and warnings, in their order.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Adds a violation or a warning.
    pub fn report(&mut self, finding: Finding) {
        self.list.push(finding);
    }

    /// Records why the evidence is insufficient.
    pub fn cannot_tell(&mut self, reason: impl Into<Reason>) {
        self.add_unknown(WhenCounted::Always, reason.into());
    }

    /// Records why the evidence is insufficient if nothing is examined in the end.
    pub(crate) fn cannot_tell_unless_examined(&mut self, reason: impl Into<Reason>) {
        self.add_unknown(WhenCounted::NothingExamined, reason.into());
    }

    /// Records why the evidence is insufficient if no violation is found in the end.
    pub(crate) fn cannot_tell_unless_found(&mut self, reason: impl Into<Reason>) {
        self.add_unknown(WhenCounted::NothingFound, reason.into());
    }

    fn add_unknown(&mut self, when: WhenCounted, reason: Reason) {
        if !self.unknown.contains(&(when, reason.clone())) {
            self.unknown.push((when, reason));
        }
    }

    /// Records why the evidence is insufficient for one object. A reason that several objects share is reported once.
    pub(crate) fn cannot_tell_of(&mut self, object: impl fmt::Display, reason: impl Into<Reason>) {
        let reason = reason.into();
        let mut entries = self.unknown_objects.iter_mut();
        match entries.find(|(old, _)| *old == reason) {
            Some((_, objects)) => objects.count += 1,
            None => {
                let first = object.to_string();
                self.unknown_objects.push((reason, FirstOf { first, count: 1 }));
            }
        }
    }

    /// Records that an object of that name, which may be missing, had a part in a violation that was open at the end.
    pub(crate) fn wait_for(&mut self, kind: ObjectKind, (namespace, name): (&str, &str)) {
        let open = match kind {
            ObjectKind::ClusterProfile => &mut self.open.profiles,
            ObjectKind::PlacementDecision => &mut self.open.slices,
        };
        open.insert(ObjectKey::new(namespace, name));
    }

    /// The objects with a violation that was open at the end.
    pub(crate) fn open(&self) -> &Awaited {
        &self.open
    }

    /// Records which required evidence was not requested. Counts only if nothing was examined.
    pub fn not_asked(&mut self, evidence: impl Into<Reason>) {
        self.not_asked = Some(evidence.into());
    }

    /// Records why the rule does not apply: the hub has nothing that it is about. Counts only if nothing was examined. A
    /// later reason replaces an earlier one.
    pub fn not_applicable(&mut self, reason: impl Into<Reason>) {
        self.not_applicable = Some(reason.into());
    }

    /// Records that nothing happened that the rule judges. Counts only if nothing was examined. The rule was not judged then,
    /// although it may apply.
    pub(crate) fn nothing_happened(&mut self, words: impl Into<Cow<'static, str>>) {
        self.not_applicable(nothing_happened(words));
    }

    /// Adds a note to the report.
    pub fn note(&mut self, remark: impl Into<Reason>) {
        let remark = remark.into();
        if !self.notes.contains(&remark) {
            self.notes.push(remark);
        }
    }

    /// Notes that a violation lasted no longer than the grace period.
    pub(crate) fn note_short(&mut self, finding: &Finding, length: Micros, grace: Micros) {
        let short = self.short.entry(finding.message.clone());
        let short = short.or_insert_with(|| Short {
            objects: FirstOf {
                first: finding.object.to_string(),
                count: 0,
            },
            longest: length,
            grace,
        });
        short.longest = short.longest.max(length);
        short.objects.count += 1;
    }

    /// Completes findings with the words of the rule's file.
    pub(crate) fn complete(&mut self, words: &FindingWords) {
        for finding in &mut self.list {
            if finding.message.is_empty() {
                finding.message.clone_from(&words.message);
            }
            if finding.expected.is_empty() {
                finding.expected.clone_from(&words.expected);
            }
        }
        if let Some(mut short) = self.short.remove("") {
            if let Some(entry) = self.short.get(&words.message) {
                short.longest = short.longest.max(entry.longest);
                short.objects.count += entry.objects.count;
            }
            self.short.insert(words.message.clone(), short);
        }
    }

    /// Why the evidence is insufficient, each cause once.
    pub(crate) fn doubts(&self) -> Vec<Reason> {
        let mut doubts: Vec<Reason> = Vec::new();
        for (when, reason) in &self.unknown {
            let is_counted = match when {
                WhenCounted::Always => true,
                WhenCounted::NothingExamined => self.examined == 0,
                WhenCounted::NothingFound => self.list.is_empty(),
            };
            if is_counted && !doubts.contains(reason) {
                doubts.push(reason.clone());
            }
        }
        let objects = self.unknown_objects.iter();
        doubts.extend(objects.map(|(reason, objects)| reason.after(objects)));
        doubts
    }

    /// Notes for the report, for example which evidence was used.
    pub(crate) fn notes(&self) -> Vec<Reason> {
        let short = self.short.iter().map(|(message, short)| {
            let (objects, longest, grace) = (&short.objects, Length(short.longest), Length(short.grace));
            format!("{objects}: {message}, but only for {longest}, within the grace period of {grace}").into()
        });
        self.notes.iter().cloned().chain(short).collect()
    }
}

/// A length of time for people, for example `15 min 20 s`.
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

/// One violation: the object, the field, the expected value and the observed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The offending object.
    pub object: ObjectRef,
    /// The field, for example `metadata.labels[x-k8s.io/cluster-manager]`.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// What was observed there; never a secret.
    pub observed: String,
    /// One line for a person: begins in lower case, ends without a period.
    pub message: String,
    /// Whether it is a warning only, even for a MUST rule.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// What it is about, if not the path alone says so.
    #[serde(skip)]
    pub(crate) subject: Option<String>,
}

impl Finding {
    /// A finding on an object, to be filled with [`Self::at`], [`Self::expected`] and [`Self::observed`].
    pub fn on(object: impl Into<ObjectRef>, message: impl Into<String>) -> Self {
        Self {
            object: object.into(),
            path: String::new(),
            expected: String::new(),
            observed: String::new(),
            message: redacted_field(&message.into()),
            advisory: false,
            subject: None,
        }
    }

    /// A finding at a field of one of the objects that a rule function sees, in the words of the rule's file.
    pub(crate) fn at_field_of(
        object: impl Into<ObjectRef>,
        path: impl Into<String>,
        observed: impl Into<String>,
    ) -> Self {
        Self::on(object, "").at(path).observed(observed)
    }

    /// A finding at a field of the object that a rule function sees. The engine adds the object, and the words of the rule's
    /// file.
    pub(crate) fn at_field(path: impl Into<String>, observed: impl Into<String>) -> Self {
        Self::at_path(path, "").observed(observed)
    }

    /// A finding at a field of the object that a rule function sees; the engine adds the object.
    pub(crate) fn at_path(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::on(ObjectRef::default(), message).at(path)
    }

    /// Names the object that the finding is about, unless it names one.
    pub(crate) fn name_object(&mut self, object: impl FnOnce() -> ObjectRef) {
        if self.object.kind.is_empty() {
            self.object = object();
        }
    }

    /// A violation that may move from one path to another is one violation of its subject.
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// What one violation has in common over time: its subject or, usually, its path.
    pub(crate) fn identity(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.path)
    }

    /// The field that offends.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = redacted_field(&path.into());
        self
    }

    /// What was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = redacted_field(&expected.into());
        self
    }

    /// What was observed instead. An empty text is quoted, to be visible.
    pub fn observed(mut self, observed: impl Into<String>) -> Self {
        let observed = redacted_field(&observed.into());
        self.observed = if observed.is_empty() {
            r#""""#.to_owned()
        } else {
            observed
        };
        self
    }

    /// Adds who did what was observed; nothing if the evidence names no client.
    pub(crate) fn done_by(self, names: &BTreeSet<&str>) -> Self {
        if names.is_empty() {
            return self;
        }
        let observed = format!("{}, by {}", self.observed, listed(names));
        self.observed(observed)
    }

    /// A warning only, unless it is certain.
    pub(crate) fn advisory_unless(self, is_certain: bool) -> Self {
        Self {
            advisory: self.advisory || !is_certain,
            ..self
        }
    }

    /// Makes it a warning only: the evidence hints at a violation without proving it.
    pub fn advisory(mut self) -> Self {
        self.advisory = true;
        self
    }
}
