//! The profile of a member after a driver's action.
//!
//! An action leaves the implementation some time to react. If the run did not watch long enough, or a gap may hide the
//! reaction, the answer is unknown.

use super::{
    author::{NOTHING_RECORDED, author_of_moment},
    driver_steps::{
        cut_short, describe, in_the_end, is_on_profile, next_action, observed_until, to_the_second, within,
    },
    judged::is_any,
    prelude::*,
    state::GRACE,
    violation::describe as lasting,
};

/// A driver action on a member, and what followed on its profile.
pub(crate) struct ProfileStep<'s, 'e> {
    pub(crate) hub: &'s Hub<'e>,
    pub(crate) driver_step: &'s DriverStep,
    pub(crate) profile: &'s ObjectRef,
    pub(crate) timeline: Timeline<'e, ClusterProfile>,
}

impl<'s, 'e> ProfileStep<'s, 'e> {
    /// The action with the profile that it concerns.
    pub(crate) fn of(hub: &'s Hub<'e>, driver_step: &'s DriverStep) -> Result<Self, Reason> {
        let unknown = || {
            Reason::from(format!(
                "the profile of {} is unknown",
                redacted(&driver_step.member)
            ))
        };
        Self::on(
            hub,
            driver_step,
            driver_step.profile.as_ref().ok_or_else(unknown)?,
        )
    }

    fn on(hub: &'s Hub<'e>, driver_step: &'s DriverStep, profile: &'s ObjectRef) -> Result<Self, Reason> {
        let of_name = hub.evidence.histories_named(&profile.namespace, &profile.name);
        let histories: Vec<&History<ClusterProfile>> = of_name.collect();
        if histories.is_empty() {
            return Err(format!("the watch never showed {profile}").into());
        }
        Ok(Self {
            hub,
            driver_step,
            profile,
            timeline: Timeline::of_name(hub.evidence, &histories),
        })
    }

    /// The profile when the action began; none if there was none.
    pub(crate) fn before(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.driver_step.from.as_microsecond())
    }

    /// The profile when the action began, if the run watched it at that time.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub(crate) fn before_surely(&self) -> Result<Option<&'e ClusterProfile>, Reason> {
        let began = self.driver_step.from.as_microsecond();
        let moments = self.timeline.moments();
        let count = moments.partition_point(|moment| moment.seen_at < began);
        if count > 0 && moments[count - 1].is_observed() {
            return Ok(self.before());
        }
        Err(format!(
            "{} was not watched before {}",
            self.profile,
            describe(self.driver_step)
        )
        .into())
    }

    /// The profile as last seen by the deadline; none if there was none.
    pub(crate) fn at_deadline(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.last_observation().saturating_add(1))
    }

    /// The driver's last action of a kind on the same member before this one.
    pub(crate) fn earlier(&self, action: DriverAction) -> Option<ProfileStep<'s, 'e>> {
        let driver = self.hub.evidence.driver.as_ref()?;
        let is_earlier =
            |step: &&DriverStep| step.member == self.driver_step.member && step.from < self.driver_step.from;
        let earlier = driver.steps_of(action).filter(is_earlier);
        ProfileStep::of(self.hub, earlier.max_by_key(|step| step.from)?).ok()
    }

    /// The member's profile as the driver recognized it afterwards, if it has another name.
    pub(crate) fn renamed(&self) -> Option<ProfileStep<'s, 'e>> {
        let after = self.driver_step.profile_after.as_ref()?;
        if (&after.namespace, &after.name) == (&self.profile.namespace, &self.profile.name) {
            return None;
        }
        Self::on(self.hub, self.driver_step, after).ok()
    }

    /// The driver's next attempt to join the member again.
    pub(crate) fn joins_again(&self) -> Option<&'e DriverStep> {
        let next = self.next_action();
        next.filter(|next| next.action == DriverAction::Join)
    }

    /// Whether the driver recorded which profile a member had after an action.
    pub(crate) fn records_profiles(&self) -> bool {
        let mut steps = self.hub.evidence.driver_steps();
        steps.any(|step| step.profile_after.is_some())
    }

    /// The driver's next action on the same member or profile.
    pub(super) fn next_action(&self) -> Option<&'e DriverStep> {
        let (namespace, name) = (&*self.profile.namespace, &*self.profile.name);
        next_action(self.hub.evidence, self.driver_step, |step| {
            step.member == self.driver_step.member || is_on_profile(step, namespace, name)
        })
    }

    pub(crate) fn written_at(&self, is_own: impl Fn(&ClusterProfile) -> bool) -> Option<Micros> {
        let began = self.driver_step.from.as_microsecond();
        let moments = self.timeline.moments();
        let first = moments.partition_point(|moment| moment.seen_at < began);
        let mut places =
            (first..moments.len()).filter(|place| self.timeline.object(*place).is_some_and(&is_own));
        places.next().map(|place| moments[place].seen_at)
    }

    /// The profile as last seen before a moment; none if there was none.
    pub(super) fn last_seen_before(&self, at: Micros) -> Option<&'e ClusterProfile> {
        let moments = self.timeline.moments();
        let end = moments.partition_point(|moment| moment.seen_at < at);
        let place = (0..end).rev().find(|place| moments[*place].is_observed())?;
        self.timeline.object(place)
    }
}

/// The reason for no verdict if another client undid the reaction.
const CHANGED_BY_ANOTHER_CLIENT: &str =
    "another client changed the profile after the implementation had reacted";

impl<'e> ProfileStep<'_, 'e> {
    /// Kept if the profile was as expected when it was last seen before the deadline.
    pub(crate) fn expect(
        &self,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        violation: impl FnOnce(Option<&'e ClusterProfile>) -> Finding,
    ) -> Answer {
        let ended_early = cut_short(self.hub.evidence, self.driver_step).or_else(|| self.interrupted());
        match self.timeline.by(self.last_observation(), &expected) {
            Certainty::Yes => return Answer::Kept,
            Certainty::Unknown(reason) => return Answer::Unknown(ended_early.unwrap_or(reason)),
            Certainty::No => {}
        }
        if let Some(reason) = ended_early {
            return Answer::Unknown(reason);
        }
        let mut finding = violation(self.at_deadline());
        if self.was_undone_by_other(expected, &finding.path) {
            return Answer::Unknown(CHANGED_BY_ANOTHER_CLIENT.into());
        }
        finding.name_object(|| self.object_at_deadline());
        let expected = within(self.driver_step, &finding.expected);
        let observed = in_the_end(self.driver_step, &finding.observed);
        Answer::broken(finding.expected(expected).observed(observed))
    }

    /// Whether the profile was as expected after the action, and another client is known to have undone that.
    fn was_undone_by_other(&self, expected: impl Fn(Option<&ClusterProfile>) -> bool, field: &str) -> bool {
        let (began, last) = (self.driver_step.from.as_microsecond(), self.last_observation());
        let is_expected =
            |version: Option<&'e Version<ClusterProfile>>| expected(version.map(|version| &version.object));
        let mut changes: Vec<_> = self.timeline.changes().collect();
        changes.retain(|change| {
            let is_reaction = began < change.seen_at && change.seen_at <= last;
            is_reaction && !change.is_over_gap && is_expected(change.before) && !is_expected(change.after)
        });
        let undone = changes.last();
        let author = undone.map(|change| self.hub.profile_authors().of_change(change, field).author);
        author == Some(Author::Other)
    }

    /// Kept as with [`Self::expect`], but only what was seen after the run's own write counts, which `is_own` recognizes.
    pub(crate) fn expect_after_write(
        &self,
        is_own: impl Fn(&ClusterProfile) -> bool,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        finding: impl FnOnce(Option<&'e ClusterProfile>) -> Finding,
    ) -> Answer {
        let action = describe(self.driver_step);
        match self.written_at(is_own) {
            None => Answer::unknown(format!("the watch did not show what {action} wrote")),
            Some(at) if at > self.driver_step.deadline().as_microsecond() => {
                Answer::unknown(format!("the watch showed late what {action} wrote"))
            }
            Some(_) => self.expect(expected, finding),
        }
    }

    /// Whether a condition was True when the action began, so that it can be expected to change. If not, the answer instead.
    pub(crate) fn was_true(&self, kind: &str) -> Result<(), Answer> {
        let condition = self.before().and_then(|profile| profile.condition(kind));
        let (profile, action) = (self.profile.path(), describe(self.driver_step));
        let is_reported = |profile: &ClusterProfile| profile.condition(kind).is_some();
        Err(match condition.map(|condition| &*condition.status) {
            Some("True") => return Ok(()),
            Some(status) => {
                let status = redacted(status);
                Answer::unknown(format!("{kind} of {profile} was {status} before {action}"))
            }
            None if is_any(self.hub.evidence, is_reported) => {
                Answer::unknown(format!("{profile} did not report {kind} before {action}"))
            }
            None => Answer::NotApplicable,
        })
    }

    /// Kept if something holds of the profile again, after the deadline, for no longer than the grace period until the
    /// driver's next action on the member.
    pub(crate) fn expect_not_again(
        &self,
        again: impl Fn(&ClusterProfile) -> bool,
        violation: impl FnOnce(&str) -> Finding,
    ) -> Answer {
        let holds = |place: usize| self.timeline.object(place).is_some_and(&again);
        let deadline = self.driver_step.deadline().as_microsecond();
        let next = self.next_action().map(|next| next.from.as_microsecond());
        let intervals = self.timeline.intervals(holds).between(deadline, next);
        match intervals.longer_than(GRACE) {
            Certainty::No => return Answer::Kept,
            Certainty::Unknown(reason) => return Answer::Unknown(reason),
            Certainty::Yes => {}
        }
        let moments = self.timeline.moments();
        let is_again = |place: &usize| holds(*place) && moments[*place].seen_at > deadline;
        let Some(place) = (0..moments.len()).find(is_again) else {
            return Answer::Kept;
        };
        let ending = intervals.is_open().then(|| self.timeline.end_in_words());
        let ending = ending.unwrap_or_default();
        let mut finding = violation(&lasting(&intervals.stretches(GRACE), "", GRACE, ending));
        finding.name_object(|| self.object_at_deadline());
        let names = self.names_if_blamed(place, &finding.path);
        names.map_or_else(Answer::Unknown, |_| Answer::broken(finding))
    }

    /// The names of the client that made the change of a field with which a moment began.
    ///
    /// # Errors
    /// The reason why the change is no violation: another client made it, or its author is unknown although the evidence records
    /// authors.
    fn names_if_blamed(&self, place: usize, field: &str) -> Result<BTreeSet<&'e str>, Reason> {
        match author_of_moment(self.hub, &self.timeline, place, field, &|_| true) {
            Some(by) if by.is_other_client() => Err(CHANGED_BY_ANOTHER_CLIENT.into()),
            Some(Attribution {
                author: Author::Unknown(reason),
                ..
            }) if reason != NOTHING_RECORDED => Err(reason),
            by => Ok(by.map_or_else(BTreeSet::new, |by| by.names)),
        }
    }

    /// The last moment that counts as a reaction. What was seen at exactly the end may be a reaction to the next action.
    pub(super) fn last_observation(&self) -> Micros {
        let (evidence, deadline) = (self.hub.evidence, self.driver_step.deadline());
        let until = Some(observed_until(evidence, self.driver_step)).filter(|until| *until < deadline);
        let next = self.next_action().map(|next| next.from);
        let ends = until.into_iter().chain(next);
        let before_ends = ends.map(|end| end.as_microsecond().saturating_sub(1));
        before_ends.fold(deadline.as_microsecond(), Micros::min)
    }

    /// Explains that the driver acted on the member again before the deadline, if so.
    fn interrupted(&self) -> Option<Reason> {
        let next = self.next_action();
        let next = next.filter(|next| next.from <= self.driver_step.deadline())?;
        let (next, action) = (describe(next), describe(self.driver_step));
        Some(format!("{next} came before the deadline of {action}").into())
    }

    /// Kept if no change by the implementation ends something that holds since the run's own write.
    pub(crate) fn expect_kept(
        &self,
        holds: impl Fn(&ClusterProfile) -> bool,
        finding: impl FnOnce(&'e ClusterProfile) -> Finding,
    ) -> Answer {
        let action = describe(self.driver_step);
        let Some(write_at) = self.written_at(&holds) else {
            return Answer::unknown(format!("the watch did not show what {action} wrote"));
        };
        let until = observed_until(self.hub.evidence, self.driver_step).as_microsecond();
        let moments = self.timeline.moments();
        let is_within = |place: &usize| (write_at..until).contains(&moments[*place].seen_at);
        let within = (0..moments.len()).filter(is_within);
        let mut observed = within.filter_map(|place| Some((place, self.timeline.object(place)?)));
        if let Some((place, profile)) = observed.find(|(_, profile)| !holds(profile)) {
            let seen_at = to_the_second(timestamp(moments[place].seen_at));
            let finding = finding(profile);
            let observed = format!("{} from {seen_at} on", finding.observed);
            let names = self.names_if_blamed(place, &finding.path);
            let answer = |names| Answer::broken(finding.observed(observed).done_by(&names));
            return names.map_or_else(Answer::Unknown, answer);
        }
        if self.last_seen_before(until).is_none() {
            return Answer::unknown(format!("{} was deleted after {action}", self.profile));
        }
        let unseen = cut_short(self.hub.evidence, self.driver_step).or_else(|| self.missed(until));
        unseen.map_or(Answer::Kept, Answer::Unknown)
    }

    /// Explains that the watch missed part of the time until a moment, if so.
    fn missed(&self, until: Micros) -> Option<Reason> {
        let moments = self.timeline.moments().iter();
        let began = self.driver_step.from.as_microsecond();
        let mut within = moments.filter(|moment| (began..until).contains(&moment.seen_at));
        let is_missed = within.any(|moment| !moment.is_observed());
        is_missed.then(|| {
            format!(
                "the watch missed part of the time after {}",
                describe(self.driver_step)
            )
            .into()
        })
    }

    /// The profile as it was last seen before the deadline.
    fn object_at_deadline(&self) -> ObjectRef {
        let profile = self.at_deadline();
        profile.map_or_else(|| self.profile.clone(), ObjectRef::from)
    }
}
