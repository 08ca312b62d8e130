//! The rule engine: calls a rule's function on each thing that the rule is about, and turns the answers into findings.
//!
//! A rule function is pure and sees one thing. The engine decides which things are judged, who changed them, how long a
//! violation lasted, and what the evidence does not show.

mod answer;
mod at_end;
pub(crate) mod author;
pub(crate) mod change;
pub(crate) mod consumer;
pub(crate) mod decisions;
mod driver_steps;
mod group;
pub(crate) mod hub;
pub(crate) mod judged;
mod member;
mod placement_step;
pub(crate) mod prelude;
mod profile_step;
mod reference;
mod state;
#[cfg(test)]
mod tests;
mod violation;
mod writes;

pub(crate) use answer::{Answer, Evaluate, EvaluateObjects, once};
pub(crate) use at_end::{
    ConsumerSecret, NO_CONSUMER, endpoint_calls, is_joined, is_reachable, joined_profile, login,
    plugin_logins, secret, secret_label, unlabelled_secret,
};
pub(crate) use author::{Attribution, Author, ProgramFields};
pub use author::{HistoryWriters, WriterList, WriterNames, writers};
pub(crate) use change::{Change, Value, change, creation, stable};
pub(crate) use decisions::{Absence, DecisionHistory, history};
pub(crate) use driver_steps::{
    Guarded, Untouched, action, cut_short, describe, first_different, in_the_end, next_action_on,
    nothing_appeared, placement_step, step, to_the_second, within,
};
pub(crate) use group::{DECISION_GRACE, DecisionKey, decision, group, slice_group};
pub(crate) use hub::{Hub, WholeHub};
pub(crate) use judged::{Creator, Judged, JudgedObject, creators, names_of_other_managers, object_named};
pub(crate) use member::{Sample, member};
pub(crate) use placement_step::{PlacementStep, SliceState};
pub(crate) use profile_step::ProfileStep;
pub(crate) use reference::{ProfileReference, reference};
pub(crate) use state::{
    ArrivalTime, same_access, same_conditions, same_labels, same_outside_access, same_properties, same_slice,
    same_writers, slice, state, timed_state,
};
pub(crate) use writes::{BUDGET, CountedWrites, ObjectWrite, Writes, WritesByAuthor, writes};
pub use writes::{BURST, Draw, REFILL_SECONDS, Spending, Spendings, WriteSource};

pub(crate) use crate::time::CLOCKS_APART;
