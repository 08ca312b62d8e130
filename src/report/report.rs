//! The input of every format: the evidence and its judgement.

use evidence::Evidence;
use jiff::Timestamp;
use judge::{Judgement, Selection};

/// The input of every format.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The evidence.
    pub evidence: &'a Evidence,
    /// The judgement of it.
    pub judgement: &'a Judgement,
    /// The rules that the user selected.
    pub selection: &'a Selection,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// The file that holds the evidence, if any: the file that was read or recorded.
    pub file: Option<&'a str>,
}
