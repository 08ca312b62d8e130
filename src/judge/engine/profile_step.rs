//! The profile of a member after a driver's action.
//!
//! An action leaves the implementation some time to react. If the run did not watch long enough, or a gap may hide the
//! reaction, the answer is unknown.

use evidence::{DriverAction, DriverStep, History, ObjectRef, Reason, api::ClusterProfile};

use super::{
    Hub,
    author::{Attribution, author_of_moment},
    driver_steps::{describe, is_on_profile, next_action},
};
use crate::{text::redacted, time::Micros, timeline::Timeline};

/// A driver action on a member, and what followed on its profile.
pub(crate) struct Step<'s, 'e> {
    pub(crate) hub: &'s Hub<'e>,
    pub(crate) taken: &'s DriverStep,
    /// The profile that it concerns.
    pub(crate) profile: &'s ObjectRef,
    pub(crate) timeline: Timeline<'e, ClusterProfile>,
}

impl<'s, 'e> Step<'s, 'e> {
    /// The action with the profile that it concerns.
    pub(crate) fn of(hub: &'s Hub<'e>, taken: &'s DriverStep) -> Result<Self, Reason> {
        let unknown = || Reason::from(format!("the profile of {} is unknown", redacted(&taken.member)));
        Self::on(hub, taken, taken.profile.as_ref().ok_or_else(unknown)?)
    }

    fn on(hub: &'s Hub<'e>, taken: &'s DriverStep, profile: &'s ObjectRef) -> Result<Self, Reason> {
        let named = hub.evidence.histories_named(&profile.namespace, &profile.name);
        let lives: Vec<&History<ClusterProfile>> = named.collect();
        if lives.is_empty() {
            return Err(format!("the watch never showed {profile}").into());
        }
        Ok(Self {
            hub,
            taken,
            profile,
            timeline: Timeline::of_name(hub.evidence, &lives),
        })
    }

    /// The profile when the action began; none if there was none.
    pub(crate) fn before(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.taken.from.as_microsecond())
    }

    /// The profile when the action began, if the run watched it at that time.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub(crate) fn before_surely(&self) -> Result<Option<&'e ClusterProfile>, Reason> {
        let began = self.taken.from.as_microsecond();
        let moments = self.timeline.moments();
        let seen = moments.partition_point(|moment| moment.seen_at < began);
        let is_observed = seen > 0 && moments[seen - 1].is_observed();
        let unobserved =
            || format!("{} was not watched before {}", self.profile, describe(self.taken)).into();
        if is_observed {
            Ok(self.before())
        } else {
            Err(unobserved())
        }
    }

    /// The profile as last seen by the deadline; none if there was none.
    pub(crate) fn at_deadline(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.last_observation().saturating_add(1))
    }

    /// The driver's last action of a kind on the same member before this one.
    pub(crate) fn earlier(&self, action: DriverAction) -> Option<Step<'s, 'e>> {
        let driver = self.hub.evidence.driver.as_ref()?;
        let same = driver
            .steps_of(action)
            .filter(|step| step.member == self.taken.member);
        let earlier = same
            .filter(|step| step.from < self.taken.from)
            .max_by_key(|step| step.from)?;
        Step::of(self.hub, earlier).ok()
    }

    /// The member's profile as the driver recognized it afterwards, if it has another name.
    pub(crate) fn renamed(&self) -> Option<Step<'s, 'e>> {
        let after = self.taken.profile_after.as_ref()?;
        let is_renamed = (&after.namespace, &after.name) != (&self.profile.namespace, &self.profile.name);
        is_renamed
            .then(|| Self::on(self.hub, self.taken, after).ok())
            .flatten()
    }

    /// The driver's next attempt to join the member again.
    pub(crate) fn joins_again(&self) -> Option<&'s DriverStep>
    where
        'e: 's,
    {
        self.next_action()
            .filter(|next| next.action == DriverAction::Join)
    }

    /// Whether the driver recorded which profile a member had after an action.
    pub(crate) fn records_profiles(&self) -> bool {
        let mut steps = self.hub.evidence.driver_steps();
        steps.any(|step| step.profile_after.is_some())
    }

    /// The driver's next action on the same member or profile.
    pub(super) fn next_action(&self) -> Option<&'e DriverStep> {
        let (namespace, name) = (&*self.profile.namespace, &*self.profile.name);
        next_action(self.hub.evidence, self.taken, |step| {
            step.member == self.taken.member || is_on_profile(step, namespace, name)
        })
    }

    /// When the run's own write was seen.
    pub(crate) fn written_at(&self, is_own: impl Fn(&ClusterProfile) -> bool) -> Option<Micros> {
        let began = self.taken.from.as_microsecond();
        let moments = self.timeline.moments();
        let first = moments.partition_point(|moment| moment.seen_at < began);
        let is_own = |place: &usize| {
            self.timeline
                .object(*place)
                .is_some_and(|version| is_own(&version.object))
        };
        (first..moments.len())
            .find(is_own)
            .map(|place| moments[place].seen_at)
    }

    /// Who made the change of a field with which a moment began; none if nothing changed.
    pub(super) fn author_of_moment(&self, place: usize, field: &str) -> Option<Attribution<'e>> {
        author_of_moment(self.hub, &self.timeline, place, field, &|_| true)
    }

    /// The profile as last seen before a moment; none if there was none.
    pub(super) fn last_seen_before(&self, at: Micros) -> Option<&'e ClusterProfile> {
        let moments = self.timeline.moments();
        let end = moments.partition_point(|moment| moment.seen_at < at);
        let place = (0..end).rev().find(|place| moments[*place].is_observed())?;
        self.timeline.object(place).map(|version| &version.object)
    }
}
