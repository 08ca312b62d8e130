//! Opens and closes expectations: what an honest consumer does with a published profile, and during which time.

use evidence::{DriverAction, Expect, Expectation};
use jiff::Timestamp;

use super::{
    player::Player,
    publish::{Deletion, PublishedProfile},
    scenarios::{ExpectationRow, Since},
};

const OPEN: Timestamp = Timestamp::MAX;
const ANOTHER_CLIENT: &str = "another client changed the profile";
const HELD: &str = "finalizers hold the deleted profile";

impl Player<'_> {
    pub(super) fn open_expectations(&mut self, rows: &[ExpectationRow]) {
        let rows = rows.iter().filter(|row| self.has_all(&row.needs));
        let opened: Vec<Expectation> = rows.filter_map(|row| self.expectation(row)).collect();
        self.testbed.expectations.extend(opened);
    }

    fn expectation(&self, row: &ExpectationRow) -> Option<Expectation> {
        let profile = self.profiles.get(&row.profile)?;
        let from = match (&row.since, &row.expect, profile.deletion) {
            (Since::DeletionOf(other), ..) => self.profiles.get(other)?.changed_at.max(profile.changed_at),
            (Since::Start, ..) => self.started_at()?,
            // A consumer may clean up until a deleted profile is gone.
            (Since::OwnWrite, Expect::StopsCalling {}, Deletion::Deleted(gone_at)) => gone_at,
            (Since::OwnWrite, ..) => profile.changed_at,
        };
        Some(Expectation {
            rule: row.rule.clone(),
            profile: profile.key(),
            member: self.name(&row.profile),
            url: profile.url(row.address).unwrap_or_default(),
            expect: self.expected(row, profile)?,
            from,
            until: OPEN,
            warn: row.warn,
            void: self.void_reason(row, profile),
        })
    }

    /// Fills in what the scenario cannot know.
    fn expected(&self, row: &ExpectationRow, profile: &PublishedProfile) -> Option<Expect> {
        let mut expect = row.expect.clone();
        match &mut expect {
            Expect::CalledAs { other } | Expect::Reports { other } => {
                *other = self.profiles.get(&other.name)?.key()
            }
            Expect::Moves { from } => *from = profile.previous_url.clone()?,
            Expect::UsesProxy { proxy } => *proxy = profile.proxy(row.address)?,
            Expect::KeepsConnections { writes } => writes.clone_from(&profile.rewrites),
            _ => {}
        }
        Some(expect)
    }

    fn void_reason(&self, row: &ExpectationRow, profile: &PublishedProfile) -> Option<String> {
        // A consumer may clean up while its finalizer holds the profile.
        if row.expect == (Expect::StopsCalling {}) && profile.deletion == Deletion::Terminating {
            return Some(HELD.to_owned());
        }
        let companion = self.profiles.get(row.created_with.as_ref()?)?;
        (profile.created_at() != companion.created_at())
            .then(|| format!("{} was created in another second", companion.object().name))
    }

    /// When the consumer was started again after a successful stop.
    fn started_at(&self) -> Option<Timestamp> {
        let calls = &self.testbed.hook_calls;
        let start = calls.iter().rfind(|call| call.action == DriverAction::Start)?;
        let is_stop = |call: &evidence::HookCall| call.action == DriverAction::Stop && call.failure.is_none();
        calls.iter().any(is_stop).then_some(start.until)
    }

    fn open_on(&mut self, key: &str) -> impl Iterator<Item = &mut Expectation> {
        let profile = self.profiles.get(key).map(PublishedProfile::key);
        let expectations = self.testbed.expectations.iter_mut();
        expectations.filter(move |one| one.until == OPEN && Some(&one.profile) == profile.as_ref())
    }

    /// Ends the periods of a profile: a write changes what the consumer should do with it.
    pub(super) fn close_expectations(&mut self, key: &str, at: Timestamp) {
        self.open_on(key).for_each(|expectation| expectation.until = at);
    }

    pub(super) fn close_all_expectations(&mut self) {
        let now = self.context.now();
        for expectation in &mut self.testbed.expectations {
            expectation.until = expectation.until.min(now);
        }
    }

    /// Ends the periods of profiles with the same identity: one of them is deleted.
    pub(super) fn close_rivals(&mut self, key: &str) {
        let identity = |profile: &PublishedProfile| profile.template.identity.clone();
        let Some(identity_of_profile) = self.profiles.get(key).and_then(identity) else {
            return;
        };
        let now = self.context.now();
        for rival in self.keys_of(|profile| identity(profile).as_ref() == Some(&identity_of_profile)) {
            self.close_expectations(&rival, now);
        }
    }

    /// Voids the open expectations on a profile that another client has changed.
    pub(super) fn void_expectations(&mut self, key: &str) {
        self.open_on(key).for_each(|expectation| {
            expectation.void.get_or_insert_with(|| ANOTHER_CLIENT.to_owned());
        });
    }
}
