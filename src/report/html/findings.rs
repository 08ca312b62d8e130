//! The findings of a rule: what was expected and observed, the offending objects, and how they came to it.

use evidence::ObjectRef;
use jiff::Timestamp;
use judge::{
    RuleVerdict,
    rules::{Finding, Spendings},
};

use super::{
    display::{Sign, shown, utc},
    excerpt::{self, ExcerptLine},
    listed,
    plot::{Plot, span},
};
use crate::{
    Report,
    story::{Changed, Event, Stories, Story, What, representatives},
    summary::{
        findings::{FindingGroup, alike},
        shown_verdict,
    },
    text::count,
};

/// The most groups of findings of a rule, of stories, and of objects with their YAML in a group.
const GROUPS: usize = 6;
const STORIES: usize = 3;
const EXCERPTS: usize = 2;

/// How many changed fields are shown of an event that did not set the finding's field.
const FOLDED_FIELDS: usize = 2;

pub(super) struct RuleView<'a> {
    pub(super) verdict: &'a RuleVerdict,
    pub(super) sign: Sign,
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) findings: Vec<FindingView<'a>>,
    pub(super) hidden: Option<String>,
}

/// The same violation on one or more objects.
pub(super) struct FindingView<'a> {
    pub(super) group: FindingGroup<'a>,
    /// `waived`, `warning only`, or empty.
    pub(super) remark: &'static str,
    pub(super) objects: Vec<ObjectView<'a>>,
    /// Names of more objects, in a sentence.
    pub(super) more: String,
}

/// An object with the part that violates the rule, and how it came to that.
pub(super) struct ObjectView<'a> {
    pub(super) object: &'a ObjectRef,
    pub(super) lines: Vec<ExcerptLine>,
    /// Whether the field is missing, so that the marked line shows where it belongs.
    pub(super) is_missing: bool,
    pub(super) story: Option<Story>,
    pub(super) plot: Option<Plot>,
}

impl<'a> RuleView<'a> {
    pub(super) fn of(
        report: &Report<'a>,
        verdict: &'a RuleVerdict,
        stories: &Stories,
        spendings: &Spendings,
    ) -> Self {
        let notes = verdict.notes.iter();
        let notes = notes.map(|note| report.with_advice(note, Some(verdict.rule)));
        let waived = verdict.waived.iter().map(|(finding, _)| finding);
        let open = alike(&verdict.findings).into_iter().map(|group| {
            let remark = if group.first().advisory {
                "warning only"
            } else {
                ""
            };
            (group, remark)
        });
        let groups: Vec<_> = open
            .chain(alike(waived).into_iter().map(|group| (group, "waived")))
            .collect();
        let hidden: usize = groups
            .iter()
            .skip(GROUPS)
            .map(|(group, _)| group.findings.len())
            .sum();
        let mut with_story = representatives(verdict);
        with_story.truncate(STORIES);
        let object = |finding: &'a Finding| {
            let is_chosen = with_story.iter().any(|one| std::ptr::eq(*one, finding));
            let object = excerpt::object(report.evidence, &finding.object);
            let (lines, exists) = object.map_or((Vec::new(), true), |object| {
                excerpt::around(&object, &finding.path)
            });
            let plot = || Plot::of(report, spendings, verdict, finding);
            ObjectView {
                object: &finding.object,
                lines,
                is_missing: !exists,
                story: is_chosen.then(|| stories.of_finding(finding)).flatten(),
                plot: is_chosen.then(plot).flatten(),
            }
        };
        let views = groups.into_iter().take(GROUPS).map(|(group, remark)| {
            let more_objects = group.findings.iter().skip(EXCERPTS);
            let more_objects = listed(more_objects.map(|finding| finding.object.to_string()));
            FindingView {
                objects: group
                    .findings
                    .iter()
                    .take(EXCERPTS)
                    .map(|finding| object(finding))
                    .collect(),
                more: more_objects.join(", "),
                group,
                remark,
            }
        });
        Self {
            verdict,
            sign: Sign::of(shown_verdict(verdict)),
            reason: report.reason(verdict).as_deref().map(shown),
            notes: listed(notes),
            findings: views.collect(),
            hidden: (hidden > 0).then(|| count(hidden, "more finding")),
        }
    }
}

/// Successive events that set the finding's field, or that did not.
pub(crate) fn parts(story: &Story) -> Vec<&[Event]> {
    let parts = story
        .events
        .chunk_by(|one, next| one.sets_field == next.sets_field);
    parts.collect()
}

/// What events that did not set the finding's field are called when they are folded; `None` for others, and for a story
/// of one event.
pub(crate) fn folded(story: &Story, events: &[Event]) -> Option<String> {
    let number = |event: &Event| match event.what {
        What::LeftOut => event.count,
        _ => 1,
    };
    let number = count(events.iter().map(number).sum(), "event");
    let is_folded = !events[0].sets_field && story.events.len() > 1;
    is_folded.then(|| number + " that did not set the field")
}

/// When an event happened: the first event of a story has its time, later ones their distance from it.
pub(crate) fn time(story: &Story, event: &Event) -> String {
    let begin = story.events.iter().find_map(|event| event.at);
    let since = |at: Timestamp| match begin {
        Some(begin) if at > begin => format!("+{}", span(at.duration_since(begin).as_secs())),
        _ => utc(at),
    };
    let from = event.at.map(since).unwrap_or_default();
    match event.until.map(since) {
        Some(until) if event.at.is_some() && until != from => format!("{from} to {until}"),
        _ => from,
    }
}

/// The changed fields to show of an event, and how many more there are.
pub(crate) fn changed(event: &Event) -> (&[Changed], Option<String>) {
    let fields = if event.sets_field {
        usize::MAX
    } else {
        FOLDED_FIELDS
    };
    let (shown, rest) = event.changed.split_at(event.changed.len().min(fields));
    let more = rest.len() + event.more_changed;
    (shown, (more > 0).then(|| count(more, "more field")))
}

pub(crate) fn value(value: &Option<String>) -> String {
    match value.as_deref() {
        None => "(absent)".to_owned(),
        Some("") => "\"\"".to_owned(),
        Some(text) => shown(text),
    }
}
