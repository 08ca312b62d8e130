//! What all formats say of a judgement, in words.

pub(crate) mod cost;
pub(crate) mod coverage;
pub(crate) mod decision;
pub(crate) mod failure;
pub(crate) mod locked;
pub(crate) mod of_edition;
pub(crate) mod reactions;
pub(crate) mod sources;
pub(crate) mod unread;
