//! Compares what a profile reports with what its member reports.
//!
//! A look at a member is an instant and proves no duration. The named assumption is *Sampled*: what a member shows at two
//! successive looks, it showed between them, or one of the two if they differ. So between two looks a profile is wrong
//! while it reports what agrees with neither, and it fails if that lasted for longer than the grace ([`Set::lasts`]).
//!
//! Manager and runner both see a change some time after it happened. So a profile may report what the member showed at an
//! earlier look, within the grace, or at a later one: what was wrong before does not add to what is wrong after.
//!
//! The same assumption says what is not known: if at no look for longer than the grace the two were seen to agree, and some
//! of these looks had no answer, then the profile may have been wrong all the while.

mod comparison;
mod doubts;
mod looks;
mod outcome;
mod pair;

pub(crate) use self::{
    comparison::Comparison,
    doubts::Doubts,
    outcome::{Difference, Outcome},
    pair::{MISSED, Pair, is_joined, pairs, stood, versions_at, vouches},
};
