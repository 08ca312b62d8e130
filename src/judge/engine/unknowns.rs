//! Profiles that a rule cannot judge: members have few reasons in common, and a fleet has many members.

use std::fmt::Display;

use crate::subjects::Findings;

/// The profiles that a rule cannot judge: each reason once, with its first profile.
#[derive(Default)]
pub(super) struct Unknowns(Vec<SharedReason>);

struct SharedReason {
    reason: String,
    first: String,
    count: usize,
}

impl Unknowns {
    /// Adds a profile.
    pub(super) fn add(&mut self, profile: impl Display, reason: impl Into<String>) {
        let reason = reason.into();
        match self.0.iter_mut().find(|shared| shared.reason == reason) {
            Some(shared) => shared.count += 1,
            None => self.0.push(SharedReason {
                reason,
                first: profile.to_string(),
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
