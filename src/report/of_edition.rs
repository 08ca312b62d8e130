//! The decision by each edition, for programs.

use evidence::api::{Edition, Role};
use judge::{Decision, Judgement};
use schemars::JsonSchema;
use serde::Serialize;

/// The decision by one edition.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OfEdition {
    pub(crate) role: Role,
    pub(crate) edition: Edition,
    pub(crate) decision: Decision,
}

impl OfEdition {
    /// One for each edition; none where there is only one, whose decision is that of the run.
    pub(crate) fn each(judgement: &Judgement) -> Vec<Self> {
        let parts = judgement.parts();
        let parts = parts.iter().filter(|_| judgement.also.is_some());
        parts
            .map(|part| Self {
                role: part.edition.role(),
                edition: part.edition,
                decision: part.decision,
            })
            .collect()
    }
}
