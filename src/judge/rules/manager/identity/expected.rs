//! How many profiles there are.

use evidence::{
    Claim, ObjectRef, Reason, ReasonId,
    api::{ClusterProfile, names},
};

use crate::{
    engine::{Answer, Hub, JudgedObject},
    subjects::{Finding, has_status},
    time::{Micros, SECOND},
    timeline::{Certainty, Timeline},
};

/// What counts is how many profiles there were throughout this time before the end.
const AT_END: Micros = 120 * SECOND;

/// `identity/expected-profiles`
///
/// There are as many profiles of joined members as the user expects. More are a warning.
pub(in crate::rules) fn expected_profiles(hub: &Hub) -> Vec<Answer> {
    let profiles = hub.profiles().iter().filter(|object| !object.is_of_run());
    let presences: Vec<Certainty> = profiles.map(|object| presence(object, hub)).collect();
    let count = |wanted: fn(&Certainty) -> bool| presences.iter().filter(|presence| wanted(presence)).count();
    let present = count(|presence| *presence == Certainty::Yes);
    let possible = count(|presence| *presence != Certainty::No);
    let expected = hub.claim().expected_profiles.unwrap_or(present);
    let finding = Finding::on(
        all_profiles(),
        "the number of profiles differs from the expected number",
    )
    .at("metadata.name")
    .expected(format!("{expected} profiles of joined members"))
    .observed(format!("{present} profiles of joined members"));
    vec![if possible < expected {
        Answer::broken(finding)
    } else if present < expected {
        Answer::Unknown(Reason::from(
            "the number of profiles changed just before the end, or is not known",
        ))
    } else if present > expected {
        Answer::warning(finding)
    } else {
        Answer::Kept
    }]
}

/// The reason why the rule is skipped, if the user expects no number.
pub(in crate::rules) fn no_expected_number(claim: &Claim) -> Option<Reason> {
    let words = "the expected number of profiles was not given";
    let reason = Reason::of(ReasonId::FeatureNotClaimed, words);
    claim.expected_profiles.is_none().then_some(reason)
}

/// Whether a joined member had a profile of a name at the end: all the time, not at all, or for a part of the time.
fn presence(object: &JudgedObject<ClusterProfile>, hub: &Hub) -> Certainty {
    let timeline = Timeline::of_name(hub.evidence, &object.lives);
    let is_present = |place: usize| {
        timeline
            .object(place)
            .is_some_and(|version| counts(&version.object))
    };
    if timeline.intervals(is_present).throughout_the_last(AT_END) == Certainty::Yes {
        return Certainty::Yes;
    }
    match timeline
        .intervals(|place| !is_present(place))
        .throughout_the_last(AT_END)
    {
        Certainty::Yes => Certainty::No,
        Certainty::No | Certainty::Unknown(_) => Certainty::Unknown(Reason::default()),
    }
}

fn counts(profile: &ClusterProfile) -> bool {
    profile.metadata.deletion_timestamp.is_none() && !has_status(profile, names::CONDITION_JOINED, "False")
}

fn all_profiles() -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        name: "*".to_owned(),
        ..ObjectRef::default()
    }
}
