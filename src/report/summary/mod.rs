//! What all formats say about a judgement, in words.

pub(crate) mod decision;
pub(crate) mod findings;
pub(crate) mod run;
pub(crate) mod sources;
