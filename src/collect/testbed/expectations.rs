//! Opens and closes expectations: what an honest consumer does with a published profile, and during which time.

use std::collections::BTreeSet;

use evidence::{DriverAction, Expect, Expectation};
use jiff::Timestamp;

use super::{
    player::Player,
    publish::{Deletion, PublishedProfile},
    scenarios::{Behavior, ExpectationRow, Since},
};

/// The end of a period that is still open.
const OPEN: Timestamp = Timestamp::MAX;
const ANOTHER_CLIENT: &str = "another client changed the profile";
const HELD: &str = "finalizers hold the deleted profile";

impl Player<'_> {
    /// Opens the expectations of a scenario on the profiles that were published.
    pub(super) fn open_expectations(&mut self, rows: &[ExpectationRow]) {
        let rows = rows.iter().filter(|row| self.has_all(row.needs));
        let opened: Vec<Expectation> = rows.filter_map(|row| self.expectation(row)).collect();
        self.testbed.expectations.extend(opened);
    }

    fn expectation(&self, row: &ExpectationRow) -> Option<Expectation> {
        let (key, letter) = row.address();
        let profile = self.profiles.get(key)?;
        let from = match row.since {
            Since::OwnWrite => begins(row, profile),
            Since::DeletionOf(other) => self.profiles.get(other)?.changed_at.max(profile.changed_at),
            Since::Start => self.started_at()?,
        };
        let void = self.void_reason(row, profile);
        Some(Expectation {
            rule: row.rule.to_owned(),
            profile: profile.key(),
            member: profile.member.clone(),
            url: profile.url(letter).unwrap_or_default(),
            expect: self.behavior(row.behavior, profile)?,
            from,
            until: OPEN,
            warn: row.warn,
            void,
        })
    }

    fn behavior(&self, behavior: Behavior, profile: &PublishedProfile) -> Option<Expect> {
        let other = |key: &str| self.profiles.get(key).map(PublishedProfile::key);
        Some(match behavior {
            Behavior::Called => Expect::Called {},
            Behavior::CalledAs(key) => Expect::CalledAs { other: other(key)? },
            Behavior::NotCalled => Expect::NotCalled {},
            Behavior::StopsCalling => Expect::StopsCalling {},
            Behavior::Moves => Expect::Moves {
                from: profile.previous_url.clone()?,
            },
            Behavior::RefusesCertificate => Expect::RefusesCertificate {},
            Behavior::UsesProxy => Expect::UsesProxy {
                proxy: profile.proxy.clone()?,
            },
            Behavior::RenewsCredential => Expect::RenewsCredential {},
            Behavior::KeepsConnections => Expect::KeepsConnections {
                writes: profile.heartbeats.clone(),
            },
            Behavior::NoPluginRun => Expect::NoPluginRun {},
            Behavior::LetsGo => Expect::LetsGo {},
            Behavior::Reports(key) => Expect::Reports { other: other(key)? },
        })
    }

    fn void_reason(&self, row: &ExpectationRow, profile: &PublishedProfile) -> Option<String> {
        // A consumer may clean up while its finalizer holds the profile.
        if matches!(row.behavior, Behavior::StopsCalling) && profile.deletion == Deletion::Terminating {
            return Some(HELD.to_owned());
        }
        let other = self.profiles.get(row.same_second?)?;
        let created = |profile: &PublishedProfile| profile.stored["metadata"]["creationTimestamp"].clone();
        (created(profile) != created(other))
            .then(|| format!("{} was created in another second", other.object.name))
    }

    /// When the consumer was started again after a successful stop.
    fn started_at(&self) -> Option<Timestamp> {
        let mut calls = self.testbed.hook_calls.iter().rev();
        let start = calls.find(|call| call.action == DriverAction::Start)?;
        let mut stops = self.testbed.hook_calls.iter();
        let was_stopped = stops.any(|call| call.action == DriverAction::Stop && call.failure.is_none());
        was_stopped.then_some(start.until)
    }

    /// Ends the periods of a profile: the next write changes what the consumer should do with it.
    pub(super) fn close_expectations(&mut self, key: &str) {
        self.close_expectations_at(key, self.now());
    }

    /// Ends them at that time.
    pub(super) fn close_expectations_at(&mut self, key: &str, at: Timestamp) {
        let Some(profile) = self.profiles.get(key).map(PublishedProfile::key) else {
            return;
        };
        let open = self.testbed.expectations.iter_mut();
        for expectation in open.filter(|one| one.profile == profile && one.until == OPEN) {
            expectation.until = at;
        }
    }

    /// Ends the periods of all profiles.
    pub(super) fn close_all_expectations(&mut self) {
        let now = self.now();
        for expectation in &mut self.testbed.expectations {
            expectation.until = expectation.until.min(now);
        }
    }

    /// Ends the periods of profiles with the same identity: one of them is deleted.
    pub(super) fn close_rivals(&mut self, key: &str) {
        let Some(identity) = self
            .profiles
            .get(key)
            .and_then(|profile| profile.template.identity)
        else {
            return;
        };
        let rivals = self.profiles.iter();
        let rivals: BTreeSet<String> = rivals
            .filter(|(_, profile)| profile.template.identity == Some(identity))
            .map(|(key, _)| key.clone())
            .collect();
        for rival in rivals {
            self.close_expectations(&rival);
        }
    }

    /// Voids the open expectations on a profile that another client has changed.
    pub(super) fn void_expectations(&mut self, key: &str) {
        let Some(profile) = self.profiles.get(key).map(PublishedProfile::key) else {
            return;
        };
        let open = self.testbed.expectations.iter_mut();
        for expectation in open.filter(|one| one.profile == profile && one.until == OPEN) {
            expectation.void.get_or_insert_with(|| ANOTHER_CLIENT.to_owned());
        }
    }
}

/// When the last write took effect. A consumer may clean up until a deleted profile is gone.
fn begins(row: &ExpectationRow, profile: &PublishedProfile) -> Timestamp {
    match (row.behavior, profile.deletion) {
        (Behavior::StopsCalling, Deletion::Deleted(gone_at)) => gone_at,
        _ => profile.changed_at,
    }
}
