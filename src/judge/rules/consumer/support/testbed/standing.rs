//! How a profile stands among others of the same member (KEP-4322, uniqueness of the ClusterProfile object): a consumer whose
//! actions would conflict acts on the oldest one of a namespace, and on none if several are the oldest.

use std::collections::BTreeSet;

use evidence::{
    api::{ClusterProfile, names::LABEL_MEMBER_ID},
    parse_time,
};
use jiff::Timestamp;

use super::play::{Play, Subject};
use crate::rules::consumer::support::time::While;

/// A profile with an identity, while it had that, and was created at that moment.
pub(crate) struct Standing<'p, 'e> {
    pub(crate) subject: &'p Subject<'e>,
    /// The identity.
    pub(crate) id: &'e str,
    /// The names of the others of its namespace that ever had that identity.
    pub(crate) others: BTreeSet<&'e str>,
    /// While it was there with that identity.
    pub(crate) held: While,
    /// While it was there without it.
    otherwise: While,
    /// While an older one was there.
    pub(crate) has_older: While,
    /// While another one of the same moment was there.
    pub(crate) has_tied: While,
    /// While a younger one was there.
    pub(crate) has_younger: While,
    /// While a profile with that identity was in a namespace that the consumer does not read.
    pub(crate) is_elsewhere: While,
}

impl Standing<'_, '_> {
    /// While it was the one to act on.
    pub(crate) fn is_first(&self) -> While {
        self.held.and(&self.has_older.not()).and(&self.has_tied.not())
    }

    /// While it was one of several to act on, and so none was.
    pub(crate) fn is_tied(&self) -> While {
        self.held.and(&self.has_tied).and(&self.has_older.not())
    }

    /// While it was there and something did not hold that keeps it from being acted on.
    pub(crate) fn without(&self, held: &While) -> While {
        let free = self.held.and(&held.not());
        let either = While::any([self.otherwise.clone(), free]);
        either.expect("there are two")
    }

    /// While another one was to be acted on.
    pub(crate) fn is_second(&self) -> While {
        self.held.and(&self.has_older)
    }
}

/// The identity that a profile has: an empty one is none.
fn identity(profile: &ClusterProfile) -> Option<&str> {
    let id = profile.metadata.labels.get(LABEL_MEMBER_ID)?;
    (!id.is_empty()).then_some(id)
}

/// When a profile was created, if it says so.
fn created(profile: &ClusterProfile) -> Option<Timestamp> {
    profile
        .metadata
        .creation_timestamp
        .as_deref()
        .and_then(parse_time)
}

/// All profiles with an identity that the consumer selects, each as often as it had another one.
pub(crate) fn standings<'p, 'e>(play: &'p Play<'e>) -> Vec<Standing<'p, 'e>> {
    let with: Vec<&Subject<'e>> = play
        .subjects()
        .iter()
        .filter(|subject| {
            play.versions_of(subject)
                .any(|profile| identity(profile).is_some())
        })
        .collect();
    let mut standings = Vec::new();
    for subject in &with {
        let selected = play
            .versions_of(subject)
            .filter(|profile| play.is_selected(profile));
        let pairs: BTreeSet<_> = selected
            .filter_map(|profile| Some((identity(profile)?, created(profile)?)))
            .collect();
        for (id, at) in pairs {
            let others = with.iter().filter(|other| !std::ptr::eq(**other, *subject));
            let namespace = &subject.last.metadata.namespace;
            let (own_ones, foreign): (Vec<_>, Vec<_>) =
                others.partition(|other| other.last.metadata.namespace == *namespace);
            let competes = |profile: &ClusterProfile| competes(profile, id, play);
            let any = |others: &[&&Subject<'e>], holds: &dyn Fn(&ClusterProfile) -> bool| {
                let any = While::any(others.iter().map(|other| other.timeline.while_(holds)));
                any.unwrap_or_else(|| subject.timeline.while_(|_| false))
            };
            let own = |compare: fn(&Timestamp, &Timestamp) -> bool| {
                any(&own_ones, &|profile| {
                    competes(profile) && created(profile).is_some_and(|other| compare(&other, &at))
                })
            };
            let had_it = own_ones
                .iter()
                .filter(|other| play.versions_of(other).any(competes));
            standings.push(Standing {
                subject,
                id,
                others: had_it.map(|other| &*other.last.metadata.name).collect(),
                held: subject
                    .timeline
                    .while_(|profile| competes(profile) && created(profile) == Some(at)),
                otherwise: subject
                    .timeline
                    .while_(|profile| !competes(profile) || created(profile) != Some(at)),
                has_older: own(Timestamp::lt),
                has_tied: own(Timestamp::eq),
                has_younger: own(Timestamp::gt),
                is_elsewhere: any(&foreign, &|profile| {
                    !play.is_selected(profile) && identity(profile) == Some(id)
                }),
            });
        }
    }
    standings
}

/// Whether a consumer may choose a profile for that identity. It chooses none that is about to go.
fn competes(profile: &ClusterProfile, id: &str, play: &Play<'_>) -> bool {
    play.is_selected(profile)
        && identity(profile) == Some(id)
        && profile.metadata.deletion_timestamp.is_none()
}
