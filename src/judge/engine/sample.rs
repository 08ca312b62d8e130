//! A sample of a member, as rule functions see it.

use std::collections::BTreeSet;

use evidence::{ClusterProperty, Evidence, Kind, Lease, Look, Member, MemberPart};

use super::Answer;
use crate::time::why_missed;

/// A member that the run accessed.
pub(super) struct SampledMember<'e> {
    pub(super) member: &'e Member,
    /// The components whose lease was fresh at some time since the first sample.
    renewing: BTreeSet<&'e str>,
    /// Why it never answered.
    silence: &'e str,
}

/// What a member answered at one time.
pub(crate) struct Sample<'s> {
    /// Its answers.
    pub(crate) answers: &'s Look,
    member: &'s SampledMember<'s>,
}

impl<'e> SampledMember<'e> {
    pub(super) fn of(evidence: &'e Evidence, member: &'e Member) -> Self {
        let reason = why_missed(evidence, Kind::Members, &member.profile);
        Self {
            member,
            renewing: renewing(member),
            silence: reason.unwrap_or("it was not asked"),
        }
    }

    pub(super) fn sample<'s>(&'s self, answers: &'s Look) -> Sample<'s> {
        Sample {
            answers,
            member: self,
        }
    }
}

/// The components whose lease was fresh at some time since the first sample. A lease that is stale all the time may be
/// a leftover.
fn renewing(member: &Member) -> BTreeSet<&str> {
    let mut components = BTreeSet::new();
    let Some(first) = member.looks.first() else {
        return components;
    };
    for answers in &member.looks {
        let since_first = answers.from.duration_since(first.from).as_secs();
        let leases = answers.leases.as_deref().unwrap_or_default().iter();
        let fresh =
            leases.filter(|lease| lease.age_seconds.saturating_sub(lease.duration_seconds) <= since_first);
        components.extend(fresh.map(|lease| &*lease.name));
    }
    components
}

impl Sample<'_> {
    /// The answer of a rule that needs a part that the member did not answer.
    pub(crate) fn lacks(&self, part: MemberPart) -> Answer {
        let reason = match self.answers.missing.get(&part) {
            Some(reason) => format!("its {} could not be read: {reason}", part.name()),
            None => self.member.silence.to_owned(),
        };
        Answer::Unknown(reason.into())
    }

    /// The answer about each ClusterProperty of the member.
    pub(crate) fn each_cluster_property(&self, check: impl FnMut(&ClusterProperty) -> Answer) -> Answer {
        match &self.answers.cluster_properties {
            Some(properties) => Answer::each(properties.iter(), check),
            None => self.lacks(MemberPart::ClusterProperties),
        }
    }

    /// The leases that are stale, of components that renewed theirs before.
    pub(crate) fn stale_leases(&self) -> impl Iterator<Item = &Lease> {
        let leases = self.answers.leases.as_deref().unwrap_or_default().iter();
        leases.filter(|lease| {
            lease.age_seconds > lease.duration_seconds && self.member.renewing.contains(&*lease.name)
        })
    }
}
