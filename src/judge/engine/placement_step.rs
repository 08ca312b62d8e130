//! The slices of a placement after a driver's action, until the next action on it.
//!
//! KEP-5313 names no time and no form for a request. So an answer after the patience is late, which is a warning. It is
//! missing only if the run gave up, and if the slices of some placement show that requests reach the scheduler.

use evidence::{PlacementRequest, PlacementSlices, SliceHistory, api::names, clusters_of};

use super::{
    author::NOTHING_RECORDED,
    driver_steps::{cut_short_before, describe, missed_after, next_action, observed_until, to_the_second},
    judged::object_named,
    prelude::*,
};
use crate::{time::reported_by, timeline::Moment};

/// How long slices may contradict each other: a scheduler writes them one after the other.
const GRACE: Micros = 30 * SECOND;

/// A driver action on a placement, and what followed on its slices.
pub(crate) struct PlacementStep<'s, 'e> {
    pub(crate) hub: &'s Hub<'e>,
    pub(crate) driver_step: &'s DriverStep,
    /// What the run asked for.
    pub(crate) request: &'s PlacementRequest,
    pub(crate) histories: Vec<&'s SliceHistory>,
    /// Its slices after each change, in order. They were watched at these times.
    states: Vec<SliceState<'s>>,
    timeline: Timeline<'s, PlacementDecision>,
}

/// The slices of a placement from a moment on, without those that wait for their finalizers.
pub(crate) struct SliceState<'s> {
    /// When the run saw it begin.
    pub(crate) seen_at: Micros,
    /// In the order of their names.
    pub(crate) slices: Vec<&'s PlacementDecision>,
}

impl<'s, 'e> PlacementStep<'s, 'e> {
    /// The action with its placement.
    pub(super) fn of(hub: &'s Hub<'e>, driver_step: &'s DriverStep) -> Result<Self, Reason> {
        let unknown = || Reason::from(format!("{} does not record its placement", describe(driver_step)));
        let request = driver_step.placement.as_ref().ok_or_else(unknown)?;
        let slices = request.slices(&hub.evidence.slices, &hub.evidence.header.scope);
        let histories = slices.histories.clone();
        let timeline = Timeline::of_group(hub.evidence, &histories, |_, _| false);
        let states = states(&timeline, &slices);
        Ok(Self {
            hub,
            driver_step,
            request,
            histories,
            states,
            timeline,
        })
    }

    /// Kept if its slices were as expected at some moment before the run gave up; a warning if that was late.
    ///
    /// `expected` says what they should be. `shortfall` is the finding if they never were, or the reason for none.
    pub(crate) fn expect(
        &self,
        expected: &str,
        is_met: impl Fn(&[&'s PlacementDecision]) -> bool,
        shortfall: impl FnOnce(&[&'s PlacementDecision]) -> Result<Finding, Reason>,
    ) -> Answer {
        let since = self.driver_step.from.as_microsecond();
        self.expect_since(since, expected, is_met, shortfall)
    }

    /// Kept as with [`Self::expect`], but only slices that existed at a moment or came later count.
    pub(crate) fn expect_since(
        &self,
        since: Micros,
        expected: &str,
        is_met: impl Fn(&[&'s PlacementDecision]) -> bool,
        shortfall: impl FnOnce(&[&'s PlacementDecision]) -> Result<Finding, Reason>,
    ) -> Answer {
        let mut states = self.states_since(since).iter();
        if let Some(met) = states.find(|state| is_met(&state.slices)) {
            return self.met(since, met.seen_at, expected);
        }
        if let Some(reason) = self.why_unknown(since) {
            return Answer::Unknown(reason);
        }
        // What the run saw at exactly the end may be a reaction to the next action.
        let end = observed_until(self.hub.evidence, self.driver_step).as_microsecond();
        let last = self.states.iter().rfind(|state| state.seen_at < end);
        let slices = last.map_or(&[][..], |last| &last.slices);
        let finding = shortfall(slices).map(|finding| self.dated(finding, expected, slices));
        finding.map_or_else(Answer::Unknown, |finding| Answer::all([finding]))
    }

    fn met(&self, since: Micros, met: Micros, expected: &str) -> Answer {
        if met <= reported_by(self.driver_step.deadline()) {
            return Answer::Kept;
        }
        match self.missed(since, met) {
            Some(reason) => Answer::Unknown(reason),
            None => Answer::warning(self.late(met, expected)),
        }
    }

    /// Whether something held of its slices for longer than a scheduler takes to write them, from a moment on until the
    /// next action.
    pub(crate) fn lasted(&self, from: Micros, holds: impl Fn(&[&'s PlacementDecision]) -> bool) -> Certainty {
        let moments = self.timeline.moments();
        let mut places = vec![false; moments.len()];
        let observed = (0..places.len()).filter(|place| moments[*place].is_observed());
        for (place, state) in observed.zip(&self.states) {
            places[place] = holds(&state.slices);
        }
        let intervals = self.timeline.intervals(|place| places[place]);
        intervals.between(from, self.next_action()).longer_than(GRACE)
    }

    /// Its slices at a moment and after each later change, until the next action on the placement.
    pub(crate) fn states_until_next(&self, since: Micros) -> impl Iterator<Item = &SliceState<'s>> {
        let next = self.next_action().unwrap_or(Micros::MAX);
        let states = self.states[self.place_at(since)..].iter();
        states.take_while(move |state| state.seen_at < next)
    }

    pub(crate) fn state_before(&self, state: &SliceState<'s>) -> Option<&SliceState<'s>> {
        self.states.iter().rfind(|one| one.seen_at < state.seen_at)
    }

    /// The slices that no other client is known to have published.
    pub(crate) fn published(&self, slices: &[&'s PlacementDecision]) -> Vec<&'s PlacementDecision> {
        let is_own =
            |slice: &&&PlacementDecision| !matches!(self.publisher(slice), Some(Author::Run | Author::Other));
        slices.iter().filter(is_own).copied().collect()
    }

    /// Why the publisher of one of these slices is unknown, if so.
    pub(crate) fn unknown_publisher(&self, slices: &[&PlacementDecision]) -> Option<Reason> {
        let mut publishers = slices.iter().filter_map(|slice| self.publisher(slice));
        publishers.find_map(|publisher| match publisher {
            Author::Unknown(reason) if reason != NOTHING_RECORDED => Some(reason),
            _ => None,
        })
    }

    fn publisher(&self, slice: &PlacementDecision) -> Option<Author> {
        let evidence = self.hub.evidence;
        let mut histories = evidence.slices.iter();
        let history = histories.find(|history| history.last().metadata.uid == slice.metadata.uid)?;
        Some(self.hub.slice_authors().creator(history, "decisions").author)
    }

    /// The object of a finding: the first of these slices, the last one that the placement had, or the placement.
    pub(crate) fn object(&self, slices: &[&PlacementDecision]) -> ObjectRef {
        let last = self.histories.last().map(|history| history.last());
        match slices.first().copied().or(last) {
            Some(slice) => ObjectRef::from(slice),
            None => object_named(names::PLACEMENT_KIND, ("", &self.request.name)),
        }
    }

    /// The states that may answer the action: that of a moment, and those until the run gave up or acted again.
    fn states_since(&self, since: Micros) -> &[SliceState<'s>] {
        // The watch may report late what was written before the run gave up.
        let gave_up = reported_by(observed_until(self.hub.evidence, self.driver_step));
        let next = self.next_action().unwrap_or(Micros::MAX);
        let first = self.place_at(since);
        let is_before = |state: &SliceState| state.seen_at <= gave_up && state.seen_at < next;
        let end = self.states.partition_point(is_before);
        &self.states[first..end.max(first)]
    }

    fn place_at(&self, moment: Micros) -> usize {
        let count = self.states.partition_point(|state| state.seen_at <= moment);
        count.saturating_sub(1)
    }

    /// When the driver next acts on the placement.
    fn next_action(&self) -> Option<Micros> {
        let next = next_action(self.hub.evidence, self.driver_step, |step| {
            let placement = step.placement.as_ref();
            placement.is_some_and(|placement| placement.name == self.request.name)
        });
        next.map(|next| next.from.as_microsecond())
    }

    /// Why nothing proves that an answer is missing, if so.
    fn why_unknown(&self, since: Micros) -> Option<Reason> {
        let until = reported_by(self.driver_step.last_deadline());
        cut_short_before(
            self.hub.evidence,
            self.driver_step,
            self.driver_step.last_deadline(),
        )
        .or_else(|| self.missed(since, until))
        .or_else(|| self.unreached())
        .or_else(|| self.ambiguous())
    }

    /// Explains that the watch missed part of the time, if so.
    fn missed(&self, since: Micros, until: Micros) -> Option<Reason> {
        missed_after::<PlacementDecision>(self.hub.evidence, None, self.driver_step, (since, until))
    }

    /// Explains that the requests of the run may not reach the scheduler, if so.
    fn unreached(&self) -> Option<Reason> {
        const UNREACHED: &str = "no slice names a placement of the run: either its hooks do not reach the scheduler, or \
             the hook `place` has to print `decision: NAMESPACE/KEY`";
        let evidence = self.hub.evidence;
        let steps = evidence.driver_steps();
        let mut placements = steps.filter_map(|step| step.placement.as_ref());
        let has_slices = |placement: &PlacementRequest| {
            let slices = placement.slices(&evidence.slices, &evidence.header.scope);
            !slices.histories.is_empty()
        };
        let is_reached = !self.histories.is_empty() || placements.any(has_slices);
        (!is_reached).then(|| UNREACHED.into())
    }

    /// Explains that several schedulers answer, if so.
    fn ambiguous(&self) -> Option<Reason> {
        let slices = self.histories.iter().flat_map(|history| history.objects());
        let schedulers: BTreeSet<&str> = slices.map(PlacementDecision::scheduler).collect();
        let names: Vec<String> = schedulers.into_iter().map(redacted).collect();
        let action = describe(self.driver_step);
        (names.len() > 1).then(|| format!("slices of several schedulers answer {action}: {names:?}").into())
    }

    fn dated(&self, finding: Finding, expected: &str, slices: &[&PlacementDecision]) -> Finding {
        let (start, gave_up) = (self.driver_step.until, self.driver_step.last_deadline());
        let patience = gave_up.duration_since(start).as_secs();
        let (action, start) = (describe(self.driver_step), to_the_second(start));
        let observed = format!("{} at {}", in_words(slices), to_the_second(gave_up));
        let finding = finding.observed(observed);
        finding.expected(format!("{expected} within {patience} s of {action} at {start}"))
    }

    fn late(&self, at: Micros, expected: &str) -> Finding {
        let seconds = timestamp(at).duration_since(self.driver_step.until).as_secs();
        let (patience, action) = (self.driver_step.patience_seconds, describe(self.driver_step));
        Finding::on(self.object(&[]), "the scheduler answered late")
            .at("decisions")
            .expected(format!("{expected} within {patience} s of {action}"))
            .observed(format!("after {seconds} s"))
    }
}

/// The slices of each observed moment.
fn states<'s>(
    timeline: &Timeline<'s, PlacementDecision>,
    slices: &PlacementSlices<'s>,
) -> Vec<SliceState<'s>> {
    let state = |(place, moment): (usize, &Moment<PlacementDecision>)| {
        let present = timeline.objects(place)?.iter().map(|version| &version.object);
        let is_part = |slice: &&PlacementDecision| !slice.is_terminating() && slices.hold(slice);
        let mut present: Vec<&PlacementDecision> = present.filter(is_part).collect();
        present.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Some(SliceState {
            seen_at: moment.seen_at,
            slices: present,
        })
    };
    timeline.moments().iter().enumerate().filter_map(state).collect()
}

/// `101 clusters in 2 slices`
fn in_words(slices: &[&PlacementDecision]) -> String {
    if slices.is_empty() {
        return "no slice".to_owned();
    }
    let clusters = counted(clusters_of(slices).len(), "cluster");
    format!("{clusters} in {}", counted(slices.len(), "slice"))
}
