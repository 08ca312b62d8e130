//! How a rule's functions are called.

use std::{fmt, ops::Range};

use evidence::{Evidence, Kind, ProfileHistory};

use super::Hub;
use crate::{
    rules::Facts,
    subjects::{Findings, Profiles},
    who::{before_and_after, strays},
};

/// A function of a rule, with what it is called on.
pub(crate) trait Evaluate: fmt::Debug + Send + Sync {
    /// Judges all that was observed.
    fn evaluate(&self, hub: &Hub, findings: &mut Findings);

    /// The same for some profiles. The results of all parts add up ([`Findings::absorb`]). None for rules that compare
    /// objects, or that read other evidence.
    fn per_profile(&self, _facts: &Facts, _evidence: &Evidence) -> Option<&dyn EvaluatePart> {
        None
    }

    /// Whether it says what interruptions of a watch hide.
    fn judges_around_gaps(&self) -> bool {
        true
    }
}

/// A function on each profile.
pub(crate) trait EvaluatePart: Sync {
    /// Judges the profiles at these places among the judged ones of the hub.
    fn evaluate_part(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings);
}

/// A function on each profile that handles time and authors by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EachProfile(pub(crate) fn(&Profiles, &mut Findings));

/// A function on all evidence that handles time and authors by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fleet(pub(crate) fn(&Evidence, &mut Findings));

impl Evaluate for Fleet {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.0(hub.evidence, findings);
    }

    fn judges_around_gaps(&self) -> bool {
        false
    }
}

impl Evaluate for EachProfile {
    fn judges_around_gaps(&self) -> bool {
        false
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let evidence = hub.evidence;
        self.0(&Profiles::all(evidence), findings);
        for evidence in [before_and_after(evidence), strays(evidence)].iter().flatten() {
            let mut found = Findings::default();
            self.0(&Profiles::all(evidence), &mut found);
            // What these do not tell is no doubt: the rule is judged by all others.
            if !found.list().is_empty() {
                findings.report_all(found);
            }
        }
    }

    fn per_profile(&self, facts: &Facts, evidence: &Evidence) -> Option<&dyn EvaluatePart> {
        let kinds = [&facts.needs, &facts.needs_one_of, &facts.helped_by];
        let is_undivided = |kind: &Kind| match kind {
            Kind::Requests => evidence.requests.is_some(),
            Kind::Probe => !evidence.probes.is_empty(),
            _ => false,
        };
        let is_divided = evidence.driver.is_none()
            && strays(evidence).is_none()
            && !kinds.into_iter().flatten().any(is_undivided);
        is_divided.then_some(self)
    }
}

impl EvaluatePart for EachProfile {
    fn evaluate_part(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings) {
        let objects = &hub.profiles()[places];
        let lives: Vec<&ProfileHistory> = objects.iter().flat_map(|object| &object.lives).copied().collect();
        self.0(&Profiles::some(hub.evidence, &lives), findings);
    }
}
