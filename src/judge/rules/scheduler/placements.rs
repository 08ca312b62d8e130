//! The suite `placement-lifecycle`: decisions from their request to their end, after tampering, and after a restart of the
//! scheduler.

use evidence::{PlacementRequest, Scenario, SliceHistory, clusters_of};

use crate::{
    engine::{Guarded, PlacementStep, SliceState, Untouched, first_different, to_the_second},
    rules::prelude::*,
};

/// How many members more than requested there must be: a scheduler may have reasons not to select some of them.
const SPARE: usize = 3;

const NEEDLESS_SLICE: &str = "an empty slice remains next to other slices";
const OTHER_NUMBER: &str = "the number of selected clusters differs from the requested number";

/// `placement-lifecycle/placed`: the scheduler publishes slices with as many clusters as the run asked for. It may have
/// reasons to select others.
pub(crate) fn placed(step: &PlacementStep) -> Answer {
    let expected = counted(step.request.clusters, "cluster");
    let is_met = |slices: &[&_]| step.request.is_met_by(slices);
    step.expect(&expected, is_met, |slices| match slices {
        [] if well_members(step).next().is_none() => {
            Err("no member was joined and healthy after the request".into())
        }
        [] => Ok(finding_on(step, slices, "a request for clusters has no decision")),
        _ => {
            let message = if clusters_of(slices).len() == step.request.clusters {
                NEEDLESS_SLICE
            } else {
                OTHER_NUMBER
            };
            Ok(finding_on(step, slices, message).advisory())
        }
    })
}

/// `placement-lifecycle/none-selected`: a decision names no cluster if none is requested.
pub(crate) fn none_selected(step: &PlacementStep) -> Answer {
    let is_met = |slices: &[&_]| clusters_of(slices).is_empty();
    step.expect("no cluster", is_met, |slices| Ok(finding_on(step, slices, "")))
}

fn finding_on(step: &PlacementStep, slices: &[&PlacementDecision], message: &str) -> Finding {
    Finding::on(step.object(slices), message).at("decisions")
}

/// `placement-lifecycle/crosses-the-limit`: a decision gets a second slice for its 101st cluster, and loses it with
/// that cluster. No slice is ever larger.
pub(crate) fn crosses_the_limit(step: &PlacementStep) -> Answer {
    let states = step.states_until_next(step.driver_step.from.as_microsecond());
    let slices = states.flat_map(|state| state.slices.iter().copied());
    let largest = slices.max_by_key(|slice| slice.clusters().len());
    if let Some(large) = largest.filter(|slice| slice.clusters().len() > LARGEST_SLICE) {
        let finding = Finding::on(large, "a slice has more than 100 clusters").at("decisions");
        let [limit, count] = [LARGEST_SLICE, large.clusters().len()].map(|count| counted(count, "cluster"));
        return Answer::broken(finding.expected(format!("at most {limit}")).observed(count));
    }
    let requested = step.request.clusters;
    let clusters = counted(requested, "cluster");
    let expected = if requested > LARGEST_SLICE {
        format!("{clusters} in several slices")
    } else {
        clusters
    };
    let is_met = |slices: &[&_]| step.request.is_met_by(slices);
    step.expect(&expected, is_met, |slices| wrong_size(step, slices))
}

fn wrong_size(step: &PlacementStep, slices: &[&PlacementDecision]) -> Result<Finding, Reason> {
    let references = clusters_of(slices);
    let (requested, count) = (step.request.clusters, references.len());
    if let Some(empty) = empty_slice(slices).filter(|_| count == requested) {
        return Ok(Finding::on(empty, NEEDLESS_SLICE).at("decisions"));
    }
    let is_full = requested > LARGEST_SLICE && count == LARGEST_SLICE;
    let Some(last) = slices.last().filter(|_| is_full) else {
        let reason = if count == requested {
            NEEDLESS_SLICE
        } else {
            OTHER_NUMBER
        };
        return Err(reason.into());
    };
    let namespaces: BTreeSet<&str> = references.iter().map(|reference| &*reference.namespace).collect();
    let is_selectable = |profile: &&ClusterProfile| namespaces.contains(&*profile.metadata.namespace);
    let members = well_members(step).filter(is_selectable).count();
    if members < requested + SPARE {
        let members = counted(members, "member");
        let reason = format!("only {members} in the namespaces of the decision stayed joined and healthy");
        return Err(reason.into());
    }
    Ok(Finding::on(*last, "a decision ends where its first slice is full").at("decisions"))
}

/// A slice without clusters that has another slice of its key next to it.
fn empty_slice<'s>(slices: &[&'s PlacementDecision]) -> Option<&'s PlacementDecision> {
    let is_of_one = |one: &PlacementDecision, other: &PlacementDecision| {
        let key = one.label(LABEL_DECISION_KEY);
        one.metadata.uid != other.metadata.uid
            && one.metadata.namespace == other.metadata.namespace
            && key.is_some()
            && key == other.label(LABEL_DECISION_KEY)
    };
    let mut empty = slices.iter().copied().filter(|slice| slice.clusters().is_empty());
    empty.find(|slice| slices.iter().any(|other| is_of_one(slice, other)))
}

/// The members that were joined and healthy both at the request and when the run gave up.
fn well_members<'h>(step: &'h PlacementStep) -> impl Iterator<Item = &'h ClusterProfile> {
    let is_true = |profile: &ClusterProfile, kind: &str| has_status(profile, kind, "True");
    let is_well = move |profile: &&ClusterProfile| {
        is_true(profile, CONDITION_JOINED) && is_true(profile, CONDITION_HEALTHY)
    };
    let driver_step = step.driver_step;
    step.hub.profiles().iter().filter_map(move |object| {
        object.last_before(driver_step.until).filter(is_well)?;
        object.last_before(driver_step.last_deadline()).filter(is_well)
    })
}

/// `placement-lifecycle/unplaced`: no slice is left of a request that was taken back, and none comes back.
pub(crate) fn unplaced(step: &PlacementStep) -> Answer {
    if step.histories.is_empty() {
        let name = redacted(&step.request.name);
        return Answer::unknown(format!("no slice of {name} was observed"));
    }
    let message = "a slice remains after its placement ended";
    let deleted = step.expect(
        "no slice",
        |slices| step.published(slices).is_empty(),
        |slices| slices_left(step, &step.published(slices), message),
    );
    deleted.and(came_back(step))
}

/// The finding on slices that are left: a warning if the garbage collector may still delete each of them.
fn slices_left(
    step: &PlacementStep,
    slices: &[&PlacementDecision],
    message: &str,
) -> Result<Finding, Reason> {
    if let Some(reason) = step.unknown_publisher(slices) {
        return Err(reason);
    }
    let finding = Finding::on(step.object(slices), message).at("metadata.name");
    let is_any_kept = slices.iter().any(|slice| !has_owner_of_request(step, slice));
    Ok(finding.advisory_unless(is_any_kept))
}

/// Whether an owner of a slice may be the request. The hub may have no garbage collector, for example in envtest.
///
/// An owner that had slices before the run asked for the placement is not the request.
fn has_owner_of_request(step: &PlacementStep, slice: &PlacementDecision) -> bool {
    let created = |history: &SliceHistory| history.versions[0].received();
    let began = step.histories.iter().map(|history| created(history)).min();
    let all = step.hub.evidence.slices.iter();
    let earlier = all.filter(|history| Some(created(history)) < began);
    let earlier = earlier.flat_map(|history| &history.first().metadata.owner_references);
    let earlier: BTreeSet<&str> = earlier.map(|owner| &*owner.uid).collect();
    let mut owners = slice.metadata.owner_references.iter();
    owners.any(|owner| !earlier.contains(&*owner.uid))
}

/// Slices that are there again after all of them were deleted.
fn came_back(step: &PlacementStep) -> Answer {
    let is_gone = |state: &&SliceState| step.published(&state.slices).is_empty();
    let end = step.driver_step.until.as_microsecond();
    let Some(gap) = step.states_until_next(end).find(is_gone) else {
        return Answer::Kept;
    };
    let again = step.states_until_next(gap.seen_at).find(|state| !is_gone(state));
    let Some(again) = again else { return Answer::Kept };
    match step.lasted(gap.seen_at, |slices| !step.published(slices).is_empty()) {
        Certainty::No => return Answer::Kept,
        Certainty::Unknown(reason) => return Answer::Unknown(reason),
        Certainty::Yes => {}
    }
    let message = "a slice is re-created after its placement ended";
    let slices = step.published(&again.slices);
    let (count, since) = (
        counted(slices.len(), "slice"),
        to_the_second(timestamp(again.seen_at)),
    );
    let finding = slices_left(step, &slices, message).map(|finding| {
        let finding = finding.expected(format!("no slice after {}", describe(step.driver_step)));
        finding.observed(format!("{count} since {since}"))
    });
    finding.map_or_else(Answer::Unknown, |finding| Answer::all([finding]))
}

/// `placement-lifecycle/restored`: a slice that the run deleted or emptied is there again with a cluster. The cluster
/// may be another one than before.
pub(crate) fn restored(step: &PlacementStep) -> Answer {
    let write = match own_write(step) {
        Ok(write) => write,
        Err(reason) => return Answer::Unknown(reason),
    };
    let clusters = clusters_without_slice(step, write);
    let message = match step.driver_step.action {
        DriverAction::DeleteSlice => "a slice that another client deleted is not restored",
        _ => "a slice that another client emptied is not restored",
    };
    step.expect_since(
        write.seen_at,
        "the clusters of the slice",
        |slices| clusters_of(slices).len() > clusters,
        |slices| Ok(finding_on(step, slices, message)),
    )
}

/// How many clusters the decision had in its other slices before the run's write.
fn clusters_without_slice(step: &PlacementStep, write: &SliceState) -> usize {
    let name = step.driver_step.slice.as_ref().map(|slice| slice.name.as_str());
    let before = step.state_before(write);
    let mut slices = before.map_or_else(Vec::new, |before| before.slices.clone());
    slices.retain(|slice| Some(&*slice.metadata.name) != name);
    clusters_of(&slices).len()
}

/// The first state that shows what the run wrote.
///
/// # Errors
/// The reason why there is none.
fn own_write<'h, 's>(step: &'h PlacementStep<'s, '_>) -> Result<&'h SliceState<'s>, Reason> {
    let action = describe(step.driver_step);
    let unseen = || Reason::from(format!("the watch did not show what {action} wrote"));
    let slice = step.driver_step.slice.as_ref().ok_or_else(unseen)?;
    let is_deletion = step.driver_step.action == DriverAction::DeleteSlice;
    if is_deletion {
        let mut histories = step.histories.iter();
        let history = histories.find(|history| *history.last().metadata.uid == *slice.uid);
        let history = history.ok_or_else(unseen)?;
        let is_terminating = history.last().metadata.deletion_timestamp.is_some();
        match history.deleted {
            None if is_terminating => {
                return Err(format!("a finalizer blocks the deletion of the slice after {action}").into());
            }
            None => return Err(unseen()),
            Some(_) => {}
        }
    }
    let is_written = |state: &&SliceState| {
        let mut slices = state.slices.iter();
        if is_deletion {
            !slices.any(|present| *present.metadata.uid == *slice.uid)
        } else {
            slices.any(|present| *present.metadata.name == *slice.name && present.clusters().is_empty())
        }
    };
    let from = step.driver_step.from.as_microsecond();
    let mut states = step.states_until_next(from).filter(|state| state.seen_at >= from);
    states.find(is_written).ok_or_else(unseen)
}

/// `placement-lifecycle/restart-keeps`: each slice of the run's placement keeps its uid and its list of clusters, in
/// order, while the scheduler restarts.
pub(crate) fn restart_keeps(driver_step: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched::<PlacementDecision> {
        changed: |before, after| (before.decisions != after.decisions).then_some("decisions"),
        message_changed: "a slice was rewritten when the scheduler restarted",
        message_deleted: "a slice was deleted when the scheduler restarted",
    };
    let steps = || hub.evidence.driver_steps();
    let is_before = |step: &&DriverStep| step.scenario == Scenario::Restart && step.from < driver_step.from;
    let before = steps().filter(is_before);
    let Some(placement) = before.filter_map(|step| step.placement.as_ref()).next_back() else {
        return Answer::NotApplicable;
    };
    // The run takes the placement back.
    let is_unplaced = |step: &&DriverStep| {
        let request = step.placement.as_ref();
        step.action == DriverAction::Unplace && request.is_some_and(|request| request.name == placement.name)
    };
    let unplaced = steps().find(is_unplaced);
    let names = slices_before(hub, driver_step, placement);
    let guarded = names.into_values().map(|histories| Guarded {
        histories,
        from: driver_step.from.as_microsecond(),
        is_created_by_run: false,
        until: unplaced.map_or(Micros::MAX, |step| step.from.as_microsecond()),
    });
    match untouched.judge(hub, driver_step, guarded) {
        Answer::NotApplicable => {
            Answer::unknown(format!("there was no slice before {}", describe(driver_step)))
        }
        answer => answer,
    }
}

/// The slices of a placement that existed before an action, by namespace and name.
fn slices_before<'e>(
    hub: &Hub<'e>,
    driver_step: &DriverStep,
    placement: &'e PlacementRequest,
) -> BTreeMap<(&'e str, &'e str), Vec<&'e SliceHistory>> {
    let slices = placement.slices(&hub.evidence.slices, &hub.evidence.header.scope);
    let mut names: BTreeMap<(&str, &str), Vec<&SliceHistory>> = BTreeMap::new();
    for history in &slices.histories {
        let metadata = &history.last().metadata;
        let name = (&*metadata.namespace, &*metadata.name);
        names.entry(name).or_default().push(history);
    }
    let existed = |history: &&SliceHistory| {
        let versions = history.versions.iter();
        let before = versions.take_while(|version| version.received() < driver_step.from);
        let is_deleted = history.deleted.is_some_and(|deleted| deleted < driver_step.from);
        let last = before.last().filter(|_| !is_deleted);
        last.is_some_and(|version| version.object.metadata.deletion_timestamp.is_none())
    };
    names.retain(|_, histories| histories.iter().any(existed));
    names
}

/// `placement-ownership/foreign-decisions-untouched`: the scheduler neither changes nor deletes the run's slice of
/// another scheduler.
pub(crate) fn foreign_decisions_untouched(driver_step: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched {
        changed: |before: &PlacementDecision, after: &PlacementDecision| {
            let (was, is) = (&before.metadata, &after.metadata);
            first_different([
                (before.decisions == after.decisions, "decisions"),
                (before.scheduler_name == after.scheduler_name, "schedulerName"),
                (was.labels == is.labels, "metadata.labels"),
                (
                    was.owner_references == is.owner_references,
                    "metadata.ownerReferences",
                ),
                (was.finalizers == is.finalizers, "metadata.finalizers"),
            ])
        },
        message_changed: "a slice of another scheduler was changed",
        message_deleted: "a slice of another scheduler was deleted",
    };
    untouched.judge_created(hub, driver_step, driver_step.slice.as_ref())
}
