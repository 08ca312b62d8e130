//! Objects that a rule cannot judge: they have few reasons in common.

use std::fmt::Display;

use crate::subjects::Findings;

/// The objects that a rule cannot judge: each reason once, with the first object.
#[derive(Default)]
pub(super) struct Unknowns(Vec<SharedReason>);

struct SharedReason {
    reason: String,
    first: String,
    count: usize,
}

impl Unknowns {
    pub(super) fn add(&mut self, object: impl Display, reason: impl Into<String>) {
        let reason = reason.into();
        match self.0.iter_mut().find(|shared| shared.reason == reason) {
            Some(shared) => shared.count += 1,
            None => self.0.push(SharedReason {
                reason,
                first: object.to_string(),
                count: 1,
            }),
        }
    }

    /// Reports each reason as inconclusive.
    pub(super) fn report(self, findings: &mut Findings) {
        for SharedReason { reason, first, count } in self.0 {
            match count {
                1 => findings.cannot_tell(format!("{first}: {reason}")),
                _ => findings.cannot_tell(format!("{first} and {} more: {reason}", count - 1)),
            }
        }
    }
}
