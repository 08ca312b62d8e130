//! What every format is written from.

use evidence::Evidence;
use jiff::Timestamp;
use judge::{Judgement, Selection};

/// What every format is written from.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was seen.
    pub evidence: &'a Evidence,
    /// What was judged from it.
    pub judgement: &'a Judgement,
    /// Which rules the user picked.
    pub selection: &'a Selection,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// The file that holds the evidence, where there is one: the one that was read or the one that is recorded.
    pub file: Option<&'a str>,
}
