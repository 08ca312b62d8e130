//! A profile beside the looks at its member.

use std::collections::HashMap;

use evidence::{
    Evidence, Kind, Look, Member, MemberPart, ProfileHistory,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};
use jiff::Timestamp;

use super::doubts::Doubts;
use crate::{
    reasons::NO_MEMBER_ASKED,
    subjects::{Findings, Profile, by_name, name},
    time::{Seen, Timeline, why_missed},
};

/// A judged profile and its member.
pub(crate) struct Pair<'a> {
    evidence: &'a Evidence,
    /// The profile, which may be deleted, and made again.
    pub(super) profile: Profile<'a>,
    /// The looks at its member.
    pub(crate) member: &'a Member,
}

/// The judged profiles with a member. Notes the members without a profile.
pub(crate) fn pairs<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    doubts: &mut Doubts,
) -> Vec<Pair<'a>> {
    if evidence.members.is_empty() {
        findings.not_asked(NO_MEMBER_ASKED);
    }
    let mut members: HashMap<(&str, &str), &Member> = HashMap::new();
    for member in &evidence.members {
        let (namespace, name) = (&member.profile.namespace, &member.profile.name);
        if evidence.histories_named(namespace, name).next().is_none() {
            doubts.add(
                &member.profile,
                "a kubeconfig of its member was given, but there is no such profile",
            );
        }
        members.insert((namespace, name), member);
    }
    let histories = evidence.histories();
    let asked = histories.filter(|history| members.contains_key(&name(history.last())));
    let pair = |profile: Profile<'a>| Pair {
        evidence,
        member: members[&name(profile.last_life().last())],
        profile,
    };
    by_name(evidence, asked).into_iter().map(pair).collect()
}

/// Whether the profile says that the member is joined. If not, the manager does not maintain the status.
pub(crate) fn is_joined(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(CONDITION_JOINED);
    profile.metadata.deletion_timestamp.is_none() && joined.is_none_or(|joined| &*joined.status == "True")
}

/// Whether the manager also claims to reach a healthy member: otherwise the status may be stale.
pub(crate) fn vouches(profile: &ClusterProfile) -> bool {
    let healthy = profile.condition(CONDITION_HEALTHY);
    is_joined(profile) && healthy.is_none_or(|healthy| &*healthy.status == "True")
}

impl<'a> Pair<'a> {
    /// The profile as it was last seen; none if it is deleted.
    pub(crate) fn current(&self) -> Option<&'a ClusterProfile> {
        self.profile.last_life().current()
    }

    pub(super) fn timeline(&self) -> &Timeline<'a, ClusterProfile> {
        self.profile.timeline(self.evidence)
    }

    /// The versions of the profile that may have been there during a look; none if the watch may have missed one.
    pub(crate) fn versions_at(&self, look: &Look) -> Option<Vec<&'a ClusterProfile>> {
        versions_in(self.timeline(), look.from, look.until)
    }

    /// Whether a part of the member's answers was never available.
    pub(crate) fn never_told(&self, part: MemberPart) -> bool {
        !self.member.looks.iter().any(|look| look.has(part))
    }

    /// Why a part of the member's answers was unavailable.
    pub(super) fn reason(&self, evidence: &Evidence, part: MemberPart) -> String {
        let missing = self.member.looks.iter().rev();
        let missing = missing.filter_map(|look| look.missing.get(&part)).next();
        if let Some(missing) = missing {
            return format!("its {} could not be read: {missing}", part.name());
        }
        let reason = why_missed(evidence, Kind::Members, &self.member.profile);
        reason.unwrap_or("it was not asked").to_owned()
    }
}

/// What is in doubt if the watch missed how a profile was when its member was called.
pub(crate) const MISSED: &str = "the watch was interrupted when its member was called";

/// The versions of a profile that may have been there in a span; none if the watch may have missed one.
pub(super) fn versions_in<'e>(
    timeline: &Timeline<'e, ClusterProfile>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Vec<&'e ClusterProfile>> {
    let mut versions = Vec::new();
    for (seen, _) in timeline.during(from.as_microsecond(), until.as_microsecond()) {
        match seen {
            Seen::Version(version) => versions.push(&version.object),
            Seen::Absence => {}
            Seen::Nothing => return None,
        }
    }
    Some(versions)
}

/// The versions of a profile that may have been there at a moment; none if the watch may have missed one.
pub(crate) fn versions_at<'e>(
    evidence: &'e Evidence,
    history: &'e ProfileHistory,
    at: Timestamp,
) -> Option<Vec<&'e ClusterProfile>> {
    versions_in(&Timeline::of(evidence, &[history]), at, at)
}

/// Whether the manager vouched for all of these profiles at that time, as far as the watch tells.
pub(crate) fn stood<'a>(
    evidence: &'a Evidence,
    histories: impl IntoIterator<Item = &'a ProfileHistory>,
    at: Timestamp,
    stands: fn(&ClusterProfile) -> bool,
) -> bool {
    let mut versions = Vec::new();
    for history in histories {
        let Some(there) = versions_at(evidence, history, at) else {
            return false;
        };
        versions.extend(there);
    }
    !versions.is_empty() && versions.into_iter().all(stands)
}
