//! Limits of the verdicts: a run that was cut short, and evidence that was missed, unreadable or not requested.

use evidence::Kind;
use judge::WaiverOutcome;

use super::{mend::LockedView, text::shown};
use crate::{
    Coverage, Report, partial,
    text::number::{count, thousands},
};

/// The most notices to show of each kind.
const TOLD: usize = 10;

/// All that limits the judgement.
pub(super) struct Notices {
    pub(super) partial: Option<String>,
    pub(super) complaints: Vec<String>,
    /// Evidence that was requested but unavailable.
    pub(super) missed: Vec<String>,
    pub(super) unread: Vec<String>,
    /// Whether every kind of evidence that the rules use was requested.
    pub(super) is_all_requested: bool,
    /// Kinds of evidence that were not requested though some rules would be sharper with them, and why.
    pub(super) not_asked: Vec<(&'static str, String)>,
    pub(super) waivers: Vec<WaiverView>,
}

/// A waiver, and what came of it.
pub(super) struct WaiverView {
    pub(super) rule: String,
    pub(super) object: String,
    pub(super) reason: String,
    pub(super) link: String,
    pub(super) expires: String,
    pub(super) outcome: String,
}

impl Notices {
    /// Gathers them. What is `locked` is told at the top of the page.
    pub(super) fn of(report: &Report, locked: &[LockedView]) -> Self {
        let evidence = report.evidence;
        let waivers = &report.judgement.waivers;
        let gaps = evidence.gaps.iter().map(|gap| match &gap.object {
            Some(object) => format!("{} of {object}: {}", gap.kind, report.told(&gap.reason, None)),
            None => format!("{}: {}", gap.kind, report.told(&gap.reason, None)),
        });
        let is_told = |kind: &Kind| locked.iter().any(|locked| locked.kind == kind.name());
        let not_asked = Coverage::of(report).not_asked;
        let is_all_requested = not_asked.is_empty();
        let not_asked = not_asked.into_iter().filter(|(kind, _)| !is_told(kind));
        Self {
            partial: partial(report).map(shown),
            complaints: waivers
                .iter()
                .filter_map(WaiverOutcome::complaint)
                .map(|c| shown(&c))
                .collect(),
            missed: first_of(gaps, "more like these"),
            unread: first_of(
                evidence.unreadable.iter().map(ToString::to_string),
                "more objects",
            ),
            is_all_requested,
            not_asked: not_asked
                .map(|(kind, reason)| (kind.name(), shown(&report.told(&reason, None))))
                .collect(),
            waivers: waivers.iter().map(WaiverView::of).collect(),
        }
    }
}

impl WaiverView {
    fn of(outcome: &WaiverOutcome) -> Self {
        let waiver = &outcome.waiver;
        Self {
            rule: shown(&waiver.rule),
            object: waiver.object.as_deref().map_or("all".to_owned(), shown),
            reason: shown(&waiver.reason),
            link: shown(&waiver.link),
            expires: waiver.expires.to_string(),
            outcome: if outcome.expired {
                "expired: no effect".to_owned()
            } else {
                format!("waives {}", count(outcome.waived, "finding"))
            },
        }
    }
}

/// Lists the first few, each once, and counts the others.
fn first_of(all: impl Iterator<Item = String>, what: &str) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut more = 0;
    for one in all {
        let one = shown(&one);
        if told.len() >= TOLD {
            more += 1;
        } else if !told.contains(&one) {
            told.push(one);
        }
    }
    if more > 0 {
        told.push(format!("… and {} {what}", thousands(more)));
    }
    told
}
