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
mod creators;
mod driver_steps;
mod evaluator;
mod group;
mod history;
mod hub;
mod judged;
mod member;
mod named_profiles;
mod naming_entries;
mod once;
mod others;
mod part;
mod placement_step;
mod profile_step;
mod reaction;
mod reference;
mod reference_findings;
mod same;
mod sample;
mod seen;
mod snapshot;
mod stable;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod unknowns;
mod untouched;
mod violation;
mod writes;

pub(crate) use answer::Answer;
pub(crate) use at_end::{
    ConsumerSecret, is_joined, is_reachable, login, secret, settled_profile, unlabelled_secret,
};
pub(crate) use author::{Attribution, Author, ProgramFields};
pub use author::{HistoryWriters, WriterList, WriterNames, writers};
pub(crate) use calls::calls;
pub(crate) use change::{Change, change, creation, slice_change};
pub(crate) use creators::{Creator, creators, profile_of};
pub(crate) use driver_steps::{
    cut_short, describe, in_the_end, next_action_on, nothing_appeared, to_the_second, within,
};
pub(crate) use evaluator::{Evaluate, Fleet};
pub(crate) use group::{DECISION_GRACE, DecisionKey, decision, group, slice_group};
pub(crate) use history::{Absence, DecisionHistory, history};
pub(crate) use hub::Hub;
pub(crate) use judged::{Judged, JudgedObject};
pub(crate) use member::member;
pub(crate) use once::once;
pub(crate) use others::names_of_others;
pub(crate) use placement_step::{PlacementStep, SliceState};
pub(crate) use profile_step::Step;
pub(crate) use reference::{Reference, reference};
pub(crate) use same::{
    same_access, same_conditions, same_labels, same_outside_access, same_properties, same_slice, same_writers,
};
pub(crate) use sample::Sample;
pub(crate) use seen::{Ahead, Seen};
pub(crate) use stable::{Value, stable};
pub(crate) use state::{slice, state, state_seen};
pub(crate) use step::{action, placement_step, step};
pub(crate) use untouched::{Guarded, Untouched, has_other_owners};
pub(crate) use writes::{Authored, BUDGET, Count, Write, Writes, slice_writes, writes};
pub use writes::{BURST, Draw, REFILL_SECONDS, Source, Spending, Spendings};

pub(crate) use crate::time::CLOCKS_APART;
