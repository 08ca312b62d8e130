//! How the scheduler answered what the run asked of it.
//!
//! KEP-5313 names no time and no form for a request, and the hooks that ask are not the suite's. So an answer that comes
//! after the patience is late, which is a warning. It is missing only if the run has given up, and if slices of some
//! placement of the run show that its requests reach the scheduler.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectRef, PlacementRequest, PlacementSlices, Scenario,
    api::{ClusterProfile, PlacementDecision, names},
    clusters_of,
};
use jiff::Timestamp;

use crate::{
    shared::answer::{alive, did, missed_from, steps, to_the_second},
    subjects::{Finding, Findings, has_status},
    text::{counted, redacted},
    time::{Micros, missed, surely_between, told_by},
};

/// A step that asked something of the scheduler, or tampered with its answer.
pub(super) struct Request<'e> {
    pub(super) evidence: &'e Evidence,
    pub(super) step: &'e DriverStep,
    pub(super) placement: &'e PlacementRequest,
    pub(super) slices: PlacementSlices<'e>,
}

/// The slices of a placement at a moment.
pub(super) type Slices<'e> = Vec<&'e PlacementDecision>;

/// What came of a request.
enum Answer<'e> {
    /// What was wanted, in time.
    Given,
    /// What was wanted, at that time, after the patience.
    Late(Timestamp),
    /// Something else until the run gave up: these slices.
    Missing(Slices<'e>),
    /// Unknown, for this reason.
    Unknown(String),
}

/// The executed steps of one action in a scenario of placements, each with the slices of its placement. Records why a step
/// tells nothing.
pub(super) fn requests<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    scenario: Scenario,
    action: DriverAction,
) -> Vec<Request<'e>> {
    let steps = steps(evidence, findings, scenario, action);
    let mut requests = Vec::new();
    for step in steps {
        match Request::of(evidence, step) {
            Some(request) => requests.push(request),
            None => findings.cannot_tell(format!("{} does not record its placement", did(step))),
        }
    }
    requests
}

impl<'e> Request<'e> {
    /// A step with the slices of its placement.
    pub(super) fn of(evidence: &'e Evidence, step: &'e DriverStep) -> Option<Self> {
        let placement = step.placement.as_ref()?;
        Some(Self {
            evidence,
            step,
            placement,
            slices: placement.slices(&evidence.slices, &evidence.header.scope),
        })
    }

    /// Judges what came of the request after a time. `wanted` tells what would be right, `what` says it, and `missing`
    /// reports what was there instead.
    pub(super) fn judge(
        &self,
        findings: &mut Findings,
        since: Timestamp,
        what: &str,
        wanted: impl Fn(&[&PlacementDecision]) -> bool,
        missing: impl FnOnce(&[&PlacementDecision]) -> Finding,
    ) {
        match self.answer(since, wanted) {
            Answer::Unknown(reason) => return findings.cannot_tell(reason),
            Answer::Given => {}
            Answer::Late(at) => findings.report(self.late(at, what)),
            Answer::Missing(slices) => {
                let finding = missing(&slices);
                let finding = finding
                    .expected(format!(
                        "{what} within {} s of {} at {}",
                        self.patience(),
                        did(self.step),
                        to_the_second(self.step.until)
                    ))
                    .observed(format!(
                        "{} at {}",
                        describe(&slices),
                        to_the_second(self.step.last_deadline())
                    ));
                findings.report(finding);
            }
        }
        findings.examine();
    }

    fn answer(&self, since: Timestamp, wanted: impl Fn(&[&PlacementDecision]) -> bool) -> Answer<'e> {
        let mut last = Vec::new();
        let mut first_right = None;
        // What was written before the run gave up may have been seen after it.
        let looked = self.looked();
        let until = told_by(looked);
        self.each_state(since, until, |at, slices| {
            if first_right.is_none() && wanted(slices) {
                first_right = Some(at);
            }
            // What is seen at just that time may answer the next step.
            if at < looked {
                last = slices.to_vec();
            }
        });
        let in_time = told_by(self.step.deadline());
        match first_right {
            Some(at) if at <= in_time => return Answer::Given,
            Some(at) => {
                return self.missed(since, at).map_or(Answer::Late(at), Answer::Unknown);
            }
            None => {}
        }
        match self.doubt(since) {
            Some(doubt) => Answer::Unknown(doubt),
            None => Answer::Missing(last),
        }
    }

    /// Calls `see` with the slices at `since`, and after each change until the run stopped looking.
    fn each_state(&self, since: Timestamp, looked: Timestamp, mut see: impl FnMut(Timestamp, &Slices<'e>)) {
        let mut changes: Vec<(Timestamp, bool, usize, Option<&'e PlacementDecision>)> = Vec::new();
        for (number, history) in self.slices.histories.iter().enumerate() {
            let versions = history.versions.iter();
            // A slice that another decision got is of this one no more.
            changes.extend(versions.map(|version| {
                let slice = Some(&version.object).filter(|slice| self.slices.hold(slice));
                (version.received(), false, number, slice)
            }));
            changes.extend(history.deleted.map(|at| (at, true, number, None)));
        }
        changes.retain(|(at, ..)| *at <= looked);
        // Deletions come last among what came together: the hub does not tell in which order they were written.
        changes.sort_by_key(|(at, is_deletion, number, _)| (*at, *is_deletion, *number));
        let mut present: BTreeMap<usize, &'e PlacementDecision> = BTreeMap::new();
        let of = |present: &BTreeMap<usize, &'e PlacementDecision>| -> Slices<'e> {
            let slices = present.values().copied();
            slices
                .filter(|slice| slice.metadata.deletion_timestamp.is_none())
                .collect()
        };
        let (before, after): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(at, ..)| *at <= since);
        let take = |present: &mut BTreeMap<_, _>, number, slice| match slice {
            Some(slice) => drop(present.insert(number, slice)),
            None => drop(present.remove(&number)),
        };
        for (_, _, number, slice) in before {
            take(&mut present, number, slice);
        }
        see(since, &of(&present));
        for (at, _, number, slice) in after {
            take(&mut present, number, slice);
            see(at, &of(&present));
        }
    }

    /// The slices at a time.
    pub(super) fn slices_at(&self, at: Timestamp) -> Vec<&'e PlacementDecision> {
        let mut last = Vec::new();
        self.each_state(at, at, |_, slices| last.clone_from(slices));
        last
    }

    /// The slices that are there when the run ends though none was left after the request: since when, which, and for how
    /// long they surely stayed.
    pub(super) fn last_return(&self) -> Option<(Timestamp, Slices<'e>, Micros)> {
        let end = self.evidence.header.window?.until;
        let mut was_gone = false;
        let mut back = None;
        self.each_state(self.step.until, end, |at, slices| {
            if slices.is_empty() {
                (was_gone, back) = (true, None);
            } else if was_gone {
                let since = back.take().map_or(at, |(since, _)| since);
                back = Some((since, slices.clone()));
            }
        });
        back.map(|(since, slices)| {
            let stayed = surely_between(since.as_microsecond(), end.as_microsecond());
            (since, slices, stayed)
        })
    }

    /// When the run stopped looking.
    fn looked(&self) -> Timestamp {
        let end = self.evidence.header.window.map(|window| window.until);
        end.map_or(self.step.looked_until, |end| end.min(self.step.looked_until))
    }

    /// Why nothing proves that an answer is missing, if so.
    fn doubt(&self, since: Timestamp) -> Option<String> {
        let looked = self.looked();
        if looked < self.step.last_deadline() {
            let seconds = looked.duration_since(self.step.until).as_secs().max(0);
            return Some(format!(
                "the run was cut short: it looked for {seconds} s of the {} s after {}",
                self.patience(),
                did(self.step)
            ));
        }
        self.missed(since, told_by(self.step.last_deadline()))
            .or_else(|| self.unreached())
            .or_else(|| self.ambiguous())
    }

    /// Explains that the watch missed part of the time, if so.
    fn missed(&self, since: Timestamp, until: Timestamp) -> Option<String> {
        let missed = missed::<PlacementDecision>(self.evidence, None, since, until)?;
        Some(missed_from(self.step, missed))
    }

    /// Explains that the requests of the run may not reach the scheduler, if so.
    fn unreached(&self) -> Option<String> {
        let steps = self.evidence.driver.iter().flat_map(|driver| &driver.steps);
        let mut placements = steps.filter_map(|step| step.placement.as_ref());
        let scope = &self.evidence.header.scope;
        let is_known = |placement: &PlacementRequest| {
            !placement
                .slices(&self.evidence.slices, scope)
                .histories
                .is_empty()
        };
        let is_reached = !self.slices.histories.is_empty() || placements.any(is_known);
        (!is_reached).then(|| {
            "no slice names a placement of the run: either its hooks do not reach the scheduler, or the hook `place` has \
             to print `decision: NAMESPACE/KEY`"
                .to_owned()
        })
    }

    /// Explains that several schedulers answer, if so.
    fn ambiguous(&self) -> Option<String> {
        let versions = self.slices.histories.iter().flat_map(|history| &history.versions);
        let schedulers: BTreeSet<&str> = versions.map(|version| version.object.scheduler()).collect();
        if schedulers.len() < 2 {
            return None;
        }
        let names: Vec<String> = schedulers.into_iter().map(redacted).collect();
        Some(format!(
            "slices of several schedulers answer {}: {:?}",
            did(self.step),
            names
        ))
    }

    /// How long the scheduler has, in seconds, before the run gives up.
    fn patience(&self) -> i64 {
        let last = self.step.last_deadline();
        last.duration_since(self.step.until).as_secs()
    }

    /// Says that an answer came after the patience. KEP-5313 names no time.
    fn late(&self, at: Timestamp, what: &str) -> Finding {
        let seconds = at.duration_since(self.step.until).as_secs();
        Finding::on(self.object(&[]), "the scheduler answered late")
            .at("decisions")
            .expected(format!(
                "{what} within {} s of {}",
                self.step.patience_seconds,
                did(self.step)
            ))
            .observed(format!("after {seconds} s"))
            .advisory()
    }

    /// The members that were joined and healthy from the request on until the run gave up: a scheduler may pass over others.
    pub(super) fn members_that_stay_well(&self) -> impl Iterator<Item = &'e ClusterProfile> {
        let (from, until) = (self.step.until, self.step.last_deadline());
        let is_well = |profile: &ClusterProfile| {
            [names::CONDITION_JOINED, names::CONDITION_HEALTHY]
                .iter()
                .all(|condition| has_status(profile, condition, "True"))
        };
        self.evidence.histories().filter_map(move |history| {
            let before = alive(history, from)?;
            let meanwhile = history
                .versions
                .iter()
                .filter(|version| from < version.received() && version.received() <= until);
            let stays = is_well(before) && meanwhile.map(|version| &version.object).all(is_well);
            alive(history, until).filter(|_| stays)
        })
    }

    /// Reports that slices have other clusters than were asked for. The scheduler may have reasons.
    pub(super) fn other_clusters(&self, slices: &[&PlacementDecision]) -> Finding {
        let message = "a decision has other clusters than were asked for";
        Finding::on(self.object(slices), message)
            .at("decisions")
            .advisory()
    }

    /// The object of a finding: the first of these slices, the last one that the placement had, or the placement.
    pub(super) fn object(&self, slices: &[&PlacementDecision]) -> ObjectRef {
        let known = self.slices.histories.last().map(|history| history.last());
        match slices.first().copied().or(known) {
            Some(slice) => ObjectRef::from(slice),
            None => ObjectRef {
                kind: names::PLACEMENT_KIND.to_owned(),
                name: self.placement.name.clone(),
                ..ObjectRef::default()
            },
        }
    }
}

/// How many clusters the slices select together.
pub(super) fn count_of(slices: &[&PlacementDecision]) -> usize {
    clusters_of(slices).len()
}

/// `101 clusters in 2 slices`
fn describe(slices: &[&PlacementDecision]) -> String {
    match slices.len() {
        0 => "no slice".to_owned(),
        count => format!(
            "{} in {}",
            counted(count_of(slices), "cluster"),
            counted(count, "slice")
        ),
    }
}
