//! How an object came to what a finding says of it: its versions, who wrote them and what they changed, with its member's
//! answers, the driver's steps, and the calls of a consumer.
//!
//! Everything is read from the evidence, without credentials and bounded. Text is as the hub has it: each format escapes
//! it.

mod choose;
mod events;
mod gather;
mod testbed;
#[cfg(test)]
mod tests;

use evidence::{
    Asked, Evidence,
    api::{ClusterProfile, PlacementDecision, names},
};
use judge::{RuleVerdict, WriterNames, rules::Finding};

use self::gather::{Gathered, StoryObject};
pub(crate) use self::{
    events::{Changed, Event, Story, What},
    gather::named,
};
use crate::summary::findings::alike;

/// The most stories for a rule.
const STORIES: usize = 8;

/// The stories that the evidence holds.
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

    fn story<T: StoryObject>(&self, finding: &Finding) -> Option<Story> {
        let gathered = Gathered::of::<T>(self.evidence, &self.authors, finding)?;
        let note = gathered
            .is_one_version()
            .then(|| match self.evidence.asked(T::WATCHED) {
                Asked::Yes => "The run watched the object and saw no change.",
                Asked::No(_) => "The run read the object once, so nothing is known of earlier versions.",
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
