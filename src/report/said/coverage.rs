//! The coverage of a judgement: the profiles, the time of observation, and the evidence.

use std::collections::BTreeMap;

use evidence::{Asked, Kind, Reason, ReasonId, Window};

use crate::Report;

/// The coverage of a judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The number of profiles in scope that were seen, including deleted ones.
    pub profiles: usize,
    /// How the run looked on after the window, such as `70 s more for 3 profiles to settle`; none if it did not.
    pub settled: Option<String>,
    /// The window of the watch; none for a single snapshot.
    pub watched: Option<Window>,
    /// Kinds of evidence that the selected rules use but that were not requested, with the reason.
    pub not_asked: BTreeMap<Kind, Reason>,
}

impl Coverage {
    /// Derives it from the evidence and the selected rules.
    pub fn of(report: &Report) -> Self {
        let evidence = report.evidence;
        let verdicts = report.judgement.verdicts.iter();
        let facts = verdicts
            .filter(|verdict| !verdict.is_deselected())
            .map(|verdict| &verdict.rule.facts);
        let used = facts
            .flat_map(|facts| [&facts.needs, &facts.needs_one_of, &facts.helped_by])
            .flatten();
        let not_asked = used
            .filter_map(|kind| match evidence.asked(*kind) {
                Asked::Yes => None,
                Asked::No(reason) if reason.is_empty() => {
                    Some((*kind, Reason::known(ReasonId::NotRequested, "not asked for")))
                }
                Asked::No(reason) => Some((*kind, reason.clone())),
            })
            .collect();
        Self {
            profiles: evidence.histories().count(),
            settled: evidence
                .header
                .settled
                .zip(evidence.header.window)
                .and_then(|(settled, window)| settled.describe(window)),
            watched: matches!(evidence.asked(Kind::Timeline), Asked::Yes)
                .then_some(evidence.header.window)
                .flatten(),
            not_asked,
        }
    }
}
