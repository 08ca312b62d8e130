//! The rule engine: calls a rule's function on each thing that the rule is about, and turns the answers into findings.
//!
//! A rule function is pure and sees one thing. The engine decides which things are judged, who changed them, how long a
//! violation lasted, and what the evidence does not show.

mod answer;
mod at_end;
pub(crate) mod author;
mod calls;
mod change;
mod comparison;
pub(crate) mod consumer;
pub(crate) mod decisions;
mod driver_steps;
mod group;
mod history;
pub(crate) mod hub;
pub(crate) mod judged;
mod managers;
mod member;
mod placement_step;
mod profile_step;
mod reference;
mod stable;
mod state;
#[cfg(test)]
mod tests;
mod untouched;
mod violation;
mod writes;

pub(crate) use answer::{Answer, Evaluate, once};
pub(crate) use at_end::{
    ConsumerSecret, NO_CONSUMER, is_joined, is_reachable, login, secret, settled_profile, unlabelled_secret,
};
pub(crate) use author::{Attribution, Author, ProgramFields};
pub use author::{HistoryWriters, WriterList, WriterNames, writers};
pub(crate) use calls::calls;
pub(crate) use change::{Change, change, creation, slice_change};
pub(crate) use driver_steps::{
    action, cut_short, describe, in_the_end, next_action_on, nothing_appeared, placement_step, step,
    to_the_second, within,
};
pub(crate) use group::{DECISION_GRACE, DecisionKey, decision, group, slice_group};
pub(crate) use history::{Absence, DecisionHistory, history};
pub(crate) use hub::Hub;
pub(crate) use judged::{Judged, JudgedObject};
pub(crate) use managers::{Creator, creators, names_of_others, profile_of};
pub(crate) use member::{Sample, member};
pub(crate) use placement_step::{PlacementStep, SliceState};
pub(crate) use profile_step::Step;
pub(crate) use reference::{Reference, reference};
pub(crate) use stable::{Value, stable};
pub(crate) use state::{
    Ahead, Seen, same_access, same_conditions, same_labels, same_outside_access, same_properties, same_slice,
    same_writers, slice, state, state_seen,
};
pub(crate) use untouched::{Guarded, Untouched, has_other_owners};
pub(crate) use writes::{Authored, BUDGET, Count, Write, Writes, slice_writes, writes};
pub use writes::{BURST, Draw, REFILL_SECONDS, Source, Spending, Spendings};

pub(crate) use crate::time::CLOCKS_APART;
