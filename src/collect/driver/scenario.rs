//! Runs the scenarios of the table in their order.

mod actors;
mod foreign_object;
mod run;
mod table;

use std::time::Duration;

use evidence::{
    DriverAction, Scenario,
    api::{ClusterProfile, ObjectKind},
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use tokio::sync::watch;

use self::{run::DriverScenario, table::SCENARIOS};
use super::session::Session;

/// A scenario: its actors join before the steps and leave after them, in any case.
struct ScenarioSpec {
    scenario: Scenario,
    order: Order,
    actors: Actors,
    /// Without one of these, the run leaves the scenario out.
    needs: &'static [DriverAction],
    /// The run leaves out what it cannot do of these. A step that fails ends the scenario, unless it is on a slice.
    steps: &'static [Line],
}

/// When a scenario runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// At the same time as others: it does not disturb them.
    SideBySide,
    /// After these, one after the other.
    AfterOthers,
    /// From the beginning until all others have ended.
    UntilOthersEnd,
}

/// What takes part in a scenario.
#[derive(Clone, Copy)]
enum Actors {
    /// A member.
    Member,
    /// A member whose profile is in the namespace of the run's own.
    MemberInOwnNamespace,
    /// Two members with similar names.
    SimilarMembers,
    /// As many members as the plan says.
    Fleet,
    /// A placement on at most that many clusters. Members join until at least `members` are joined and healthy.
    Placement { clusters: usize, members: usize },
    /// A member and a placement, if the implementation has them.
    MemberAndPlacement,
    /// An object that the run creates for another implementation.
    ForeignObject(ObjectKind),
}

/// A line of a scenario.
enum Line {
    Step(StepSpec),
    /// Asks for that many clusters. The scenario ends if the scheduler does not select them.
    Reschedule(usize),
    Pause(Duration),
}

/// A step of a scenario.
struct StepSpec {
    action: DriverAction,
    /// What the profile must report before, within the time for a join, and the reason for skipping the step.
    requires: Option<(Condition, &'static str)>,
    act: Act,
    until: Until,
}

/// What the run does in a step.
#[derive(Clone, Copy)]
enum Act {
    /// Calls the hook for the whole implementation.
    Hook,
    /// Calls the hook for the whole implementation. The member's profile shows the effect.
    SourceHook,
    /// Calls the hook for the member.
    MemberHook,
    /// Upgrades the member.
    Upgrade,
    /// Changes a field of the member's profile.
    Set(&'static ProfileField),
    /// Deletes the member's profile.
    DeleteProfile,
    /// Deletes the run's own namespace, with the member's profile in it.
    DeleteNamespace,
    /// Creates that namespace again once it is gone.
    CreateNamespace,
    /// Deletes a slice of the placement.
    DeleteSlice,
    /// Takes the clusters out of a slice of the placement.
    EmptySlice,
    /// Creates the object of another implementation.
    CreateForeignObject,
    /// Changes the spec of that object, which is a profile, so that its generation increases.
    ChangeForeignObject,
    /// Deletes that object, and creates it again under its name before another client can react.
    RecreateForeignObject,
}

/// Until when the run observes a step.
#[derive(Clone, Copy)]
enum Until {
    /// Until the member's profile is as expected.
    Profile(Condition),
    /// Until the member has a profile again.
    ProfileFound,
    /// Until the slices of the placement hold its clusters again.
    Placed,
    /// Until the implementation's time to react is over.
    Deadline,
    /// Until that, and for that long afterwards.
    LongAfterDeadline(Duration),
    /// Until then, and until all other scenarios have ended.
    OthersEnd,
}

impl Act {
    /// Whether the step concerns the member of the scenario.
    fn is_on_member(self) -> bool {
        matches!(
            self,
            Act::SourceHook
                | Act::MemberHook
                | Act::Upgrade
                | Act::Set(_)
                | Act::DeleteProfile
                | Act::DeleteNamespace
                | Act::CreateNamespace
        )
    }
}

/// Returns whether the member's profile is as expected, if there is one.
type Condition = fn(Option<&ClusterProfile>, &Past) -> bool;

/// What a condition compares a profile with.
#[derive(Default)]
struct Past {
    /// The profile before the last step that undoes no other one.
    before: Option<ClusterProfile>,
    /// The field that the run changed.
    field: Option<&'static ProfileField>,
    /// The value that the run set or requested; none if it removed the field.
    value: Option<String>,
}

/// A field of a profile that the run changes.
struct ProfileField {
    path: &'static str,
    /// RFC 6901.
    pointer: &'static str,
    read: fn(&ClusterProfile) -> Option<&str>,
    /// The value that the run sets; none if it removes the field.
    value: fn(run: &str) -> Option<String>,
    /// Why the step is skipped if the profile lacks the field; none if the run can change it anyway.
    missing: Option<&'static str>,
}

/// Runs all scenarios that the run can do.
pub(super) async fn all(session: &Session<'_>) {
    let (announce, others_ended) = watch::channel(false);
    let in_order = |order| -> Vec<BoxFuture<'_, ()>> {
        let specs = SCENARIOS.iter().filter(move |spec| spec.order == order);
        specs
            .map(|spec| {
                DriverScenario::new(session, spec, others_ended.clone())
                    .run()
                    .boxed()
            })
            .collect()
    };
    let others = async {
        join_all(in_order(Order::SideBySide)).await;
        for scenario in in_order(Order::AfterOthers) {
            scenario.await;
        }
        let _ = announce.send(true);
    };
    futures::join!(others, join_all(in_order(Order::UntilOthersEnd)));
}
