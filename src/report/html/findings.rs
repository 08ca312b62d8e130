//! The findings of one rule, grouped, with excerpts of the offending objects.

use judge::{RuleVerdict, rules::Finding};

use super::{
    entries::{Anchor, Places},
    excerpt::{Line, around},
    objects::Objects,
    story::StoryView,
    text::shown,
};
use crate::{
    Report,
    said::{failure, failure::Group},
    story::{Stories, representatives},
    text::number::count,
};

/// The most groups of findings to show for a rule.
const GROUPS: usize = 8;

/// How many objects of each are shown with their YAML, and how many by name.
const EXCERPTS: usize = 2;
const NAMED: usize = 20;

/// The same violation on one or more objects.
pub(super) struct FindingView {
    pub(super) message: String,
    /// A remark: waived, or a warning only.
    pub(super) remark: &'static str,
    pub(super) path: String,
    pub(super) expected: String,
    pub(super) observed: String,
    /// How many objects have it.
    pub(super) objects: String,
    pub(super) excerpts: Vec<ObjectView>,
    pub(super) others: Vec<Named>,
    /// How many objects are not named.
    pub(super) hidden: Option<String>,
}

/// An object by its name.
pub(super) struct Named {
    pub(super) name: String,
    /// Where its profile or decision is shown in detail.
    pub(super) place: Option<Anchor>,
}

/// An object with the part that offends.
pub(super) struct ObjectView {
    pub(super) named: Named,
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) lines: Vec<Line>,
    /// Whether the field is missing, and the marked line is where it belongs.
    pub(super) is_missing: bool,
    /// How it came to the finding, for the first object of each.
    pub(super) story: Option<StoryView>,
    pub(super) is_open: bool,
}

/// The findings of a rule, and how many of them are not shown.
pub(super) fn findings(
    report: &Report,
    verdict: &RuleVerdict,
    objects: &Objects,
    stories: &Stories,
    places: &Places,
) -> (Vec<FindingView>, Option<String>) {
    let waived = verdict.waived.iter().map(|(finding, _)| finding);
    let open = group(&verdict.findings, "");
    let groups: Vec<_> = open.into_iter().chain(group(waived, "waived")).collect();
    let hidden: usize = groups
        .iter()
        .skip(GROUPS)
        .map(|(group, _)| group.findings.len())
        .sum();
    let representatives = representatives(verdict);
    let views = groups.iter().take(GROUPS).map(|(group, remark)| {
        let story = |finding: &Finding| {
            let is_told = representatives.iter().any(|one| std::ptr::eq(*one, finding));
            let story = is_told.then(|| stories.of_finding(finding)).flatten()?;
            Some(StoryView::of(report, &story))
        };
        view(group, remark, objects, story, places)
    });
    (
        views.collect(),
        (hidden > 0).then(|| count(hidden, "more finding")),
    )
}

/// Findings that are alike, with a remark on them.
fn group<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    remark: &'static str,
) -> Vec<(Group<'a>, &'static str)> {
    let groups = failure::alike(findings).into_iter();
    groups
        .map(|group| {
            let is_advice = remark.is_empty() && group.first().advisory;
            (group, if is_advice { "warning only" } else { remark })
        })
        .collect()
}

fn view(
    group: &Group,
    remark: &'static str,
    objects: &Objects,
    story: impl Fn(&Finding) -> Option<StoryView>,
    places: &Places,
) -> FindingView {
    let finding = group.first();
    let named = |object: &evidence::ObjectRef| Named {
        name: shown(&object.to_string()),
        place: places.of(object),
    };
    let objects_of = || group.findings.iter().map(|finding| &finding.object);
    let excerpts = group.findings.iter().take(EXCERPTS).enumerate();
    FindingView {
        message: shown(&finding.message),
        remark,
        path: shown(&finding.path),
        expected: shown(&finding.expected),
        observed: shown(&finding.observed),
        objects: count(group.findings.len(), "object"),
        excerpts: excerpts
            .map(|(place, finding)| {
                let object = &finding.object;
                let found = objects.find(object);
                let (lines, is_there) =
                    found.map_or((Vec::new(), true), |found| around(&found, &finding.path));
                ObjectView {
                    named: named(object),
                    uid: shown(&object.uid),
                    version: shown(&object.resource_version),
                    lines,
                    is_missing: !is_there,
                    story: story(finding),
                    is_open: place == 0,
                }
            })
            .collect(),
        others: objects_of().skip(EXCERPTS).take(NAMED).map(named).collect(),
        hidden: (group.findings.len() > EXCERPTS + NAMED)
            .then(|| count(group.findings.len() - EXCERPTS - NAMED, "more object")),
    }
}
