//! From evidence as of now to a judgement. The one place that chooses how to judge.

use collect::ongoing::News;
use evidence::Evidence;
use jiff::Timestamp;
use judge::{Judgement, Selection, Standing, Waivers};

/// Judges, by these rules and with these waivers.
#[derive(Debug)]
pub struct Verdicts {
    selection: Selection,
    waivers: Option<Waivers>,
    standing: Standing,
}

impl Verdicts {
    /// Judges the selected rules.
    pub fn new(selection: Selection, waivers: Option<Waivers>) -> Self {
        Self {
            standing: Standing::new(selection.clone()),
            selection,
            waivers,
        }
    }

    /// The same for another observation, of which nothing is judged yet.
    pub fn anew(&self) -> Self {
        Self::new(self.selection.clone(), self.waivers.clone())
    }

    /// The selected rules.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// True if everything is judged then, whatever has changed.
    pub fn is_due(&self, at: Timestamp) -> bool {
        self.standing.is_due(at)
    }

    /// Judges the evidence, of which `news` tells what has changed since the last time.
    pub fn judge(&mut self, evidence: &Evidence, news: &News, at: Timestamp) -> Judgement {
        for profile in &news.profiles {
            self.standing.profile_changed(profile.clone());
        }
        for namespace in &news.namespaces {
            self.standing.namespace_changed(namespace.as_str());
        }
        let mut judgement = self.standing.judgement(evidence);
        if let Some(waivers) = &self.waivers {
            judgement.waive(waivers, Waivers::day(at), evidence.header.claim.strict);
        }
        judgement
    }
}
