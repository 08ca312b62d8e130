//! The findings of a rule: what was expected and observed, the offending objects, and how they came to it.

use evidence::ObjectRef;
use jiff::Timestamp;
use judge::{
    RuleVerdict, Verdict,
    rules::{Finding, Spendings},
};

use super::{
    display::{Sign, shown, utc},
    excerpt::{self, Line},
    plot::{Plot, span},
};
use crate::{
    Report,
    story::{Changed, Event, Stories, Story, What, representatives},
    summary::{
        findings::{Group, alike, extent},
        sources::{Cited, cited},
    },
    text::number::count,
};

/// The most groups of findings of a rule, of stories, of objects with their YAML in a group, and of other objects by name.
const GROUPS: usize = 6;
const STORIES: usize = 3;
const EXCERPTS: usize = 2;
const NAMED: usize = 20;

/// How many changed fields are shown of an event that did not set the finding's field.
const FOLDED_FIELDS: usize = 2;

/// How many notes of a rule are shown.
const NOTES: usize = 10;

/// A rule with what was found.
pub(super) struct RuleView<'a> {
    pub(super) verdict: &'a RuleVerdict,
    pub(super) sign: Sign,
    pub(super) source: Vec<Cited<'a>>,
    pub(super) extent: String,
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) findings: Vec<FindingView>,
    pub(super) hidden: Option<String>,
    pub(super) is_open: bool,
    /// Whether nothing was found, so that one line says all.
    pub(super) is_brief: bool,
}

/// The same violation on one or more objects.
pub(super) struct FindingView {
    pub(super) message: String,
    /// `waived`, `warning only`, or empty.
    pub(super) remark: &'static str,
    /// The path, and the expected and observed values, with their names.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) objects: String,
    pub(super) excerpts: Vec<ObjectView>,
    /// Names of more objects, in a sentence.
    pub(super) others: String,
}

/// An object with the part that offends.
pub(super) struct ObjectView {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) lines: Vec<Line>,
    /// Whether the field is missing, so that the marked line shows where it belongs.
    pub(super) is_missing: bool,
    pub(super) story: Option<StoryView>,
    pub(super) plot: Option<Plot>,
    pub(super) is_open: bool,
}

/// How an object came to the finding.
pub(super) struct StoryView {
    pub(super) parts: Vec<StoryPart>,
    pub(super) note: Option<String>,
}

/// Successive events that set the finding's field, or that did not and are folded.
pub(super) struct StoryPart {
    /// What the folded part is called; `None` if it is open.
    pub(super) folded: Option<String>,
    pub(super) events: Vec<EventView>,
}

/// One event.
pub(super) struct EventView {
    pub(super) at: String,
    pub(super) what: String,
    pub(super) sets_field: bool,
    pub(super) changed: Vec<ChangedView>,
    pub(super) more: Option<String>,
}

/// A field that changed.
pub(super) struct ChangedView {
    pub(super) path: String,
    pub(super) before: String,
    pub(super) after: String,
}

impl<'a> RuleView<'a> {
    pub(super) fn of(
        report: &Report<'a>,
        verdict: &'a RuleVerdict,
        stories: &Stories,
        spendings: &Spendings,
    ) -> Self {
        let mut notes: Vec<String> = verdict
            .notes
            .iter()
            .take(NOTES)
            .map(|note| shown(&report.with_advice(note, Some(verdict.rule))))
            .collect();
        if verdict.notes.len() > NOTES {
            notes.push(format!(
                "… and {}",
                count(verdict.notes.len() - NOTES, "more note")
            ));
        }
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
        let mut chosen = representatives(verdict);
        chosen.truncate(STORIES);
        let details = |finding: &Finding| {
            let is_chosen = chosen.iter().any(|one| std::ptr::eq(*one, finding));
            let story = is_chosen.then(|| stories.of_finding(finding)).flatten();
            let plot = is_chosen
                .then(|| Plot::of(report, spendings, verdict, finding))
                .flatten();
            (story.map(StoryView::of), plot)
        };
        let views = groups.iter().take(GROUPS);
        Self {
            verdict,
            sign: Sign::of(verdict.verdict),
            source: cited(&verdict.applies.source, verdict.applies.edition),
            extent: extent(verdict),
            reason: report.reason(verdict).as_deref().map(shown),
            notes,
            findings: views
                .map(|(group, remark)| FindingView::of(report, group, remark, details))
                .collect(),
            hidden: (hidden > 0).then(|| count(hidden, "more finding")),
            is_open: verdict.verdict == Verdict::Fail,
            is_brief: groups.is_empty(),
        }
    }
}

impl FindingView {
    fn of(
        report: &Report,
        group: &Group,
        remark: &'static str,
        details: impl Fn(&Finding) -> (Option<StoryView>, Option<Plot>),
    ) -> Self {
        let first = group.first();
        let facts = [
            ("path", &first.path),
            ("expected", &first.expected),
            ("observed", &first.observed),
        ];
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let excerpts = group.findings.iter().take(EXCERPTS).enumerate();
        let name = |object: &ObjectRef| shown(&object.to_string());
        let mut others: Vec<String> = group
            .findings
            .iter()
            .skip(EXCERPTS)
            .take(NAMED)
            .map(|finding| name(&finding.object))
            .collect();
        if group.findings.len() > EXCERPTS + NAMED {
            others.push(count(group.findings.len() - EXCERPTS - NAMED, "more object"));
        }
        Self {
            message: shown(&first.message),
            remark,
            facts: facts.map(|(name, value)| (name, shown(value))).collect(),
            objects: count(group.findings.len(), "object"),
            excerpts: excerpts
                .map(|(place, finding)| {
                    let object = excerpt::object(report.evidence, &finding.object);
                    let (lines, exists) = object.map_or((Vec::new(), true), |object| {
                        excerpt::around(&object, &finding.path)
                    });
                    let (story, plot) = details(finding);
                    ObjectView {
                        name: name(&finding.object),
                        version: shown(&finding.object.resource_version),
                        lines,
                        is_missing: !exists,
                        story,
                        plot,
                        is_open: place == 0,
                    }
                })
                .collect(),
            others: others.join(", "),
        }
    }
}

impl StoryView {
    /// Folds the events that did not set the finding's field.
    fn of(story: Story) -> Self {
        let begin = story.events.iter().find_map(|event| event.at);
        let is_folded = |event: &Event| !event.sets_field && story.events.len() > 1;
        let parts = story
            .events
            .chunk_by(|one, next| is_folded(one) == is_folded(next));
        let part = |events: &[Event]| {
            let number = |event: &Event| match event.what {
                What::LeftOut => event.count,
                _ => 1,
            };
            let number: usize = events.iter().map(number).sum();
            StoryPart {
                folded: is_folded(&events[0]).then(|| count(number, "event") + " that did not set the field"),
                events: events.iter().map(|event| EventView::of(event, begin)).collect(),
            }
        };
        Self {
            parts: parts.map(part).collect(),
            note: story.note,
        }
    }
}

impl EventView {
    /// The first event has its time, later ones their distance from it.
    fn of(event: &Event, begin: Option<Timestamp>) -> Self {
        let since = |at: Timestamp| match begin {
            Some(begin) if at > begin => format!("+{}", span(at.duration_since(begin).as_secs())),
            _ => utc(at),
        };
        let mut at = event.at.map(since).unwrap_or_default();
        if let (Some(from), Some(until)) = (event.at, event.until.map(since))
            && since(from) != until
        {
            at += &format!(" to {until}");
        }
        let shown_fields = if event.sets_field {
            usize::MAX
        } else {
            FOLDED_FIELDS
        };
        let more = event.more_changed + event.changed.len().saturating_sub(shown_fields);
        let changed = event.changed.iter().take(shown_fields);
        Self {
            at,
            what: event.describe(shown),
            sets_field: event.sets_field,
            changed: changed.map(ChangedView::of).collect(),
            more: (more > 0).then(|| count(more, "more field")),
        }
    }
}

impl ChangedView {
    fn of(changed: &Changed) -> Self {
        let value = |value: &Option<String>| match value.as_deref() {
            None => "(absent)".to_owned(),
            Some("") => "\"\"".to_owned(),
            Some(text) => shown(text),
        };
        Self {
            path: shown(&changed.path),
            before: value(&changed.before),
            after: value(&changed.after),
        }
    }
}
