//! Members that a rule cannot judge.

use std::fmt::Display;

use evidence::{Evidence, MemberPart};

use super::pair::Pair;
use crate::subjects::Findings;

/// Members that a rule cannot judge: each cause once, with the first member.
#[derive(Default)]
pub(crate) struct Doubts(Vec<Doubt>);

struct Doubt {
    first: String,
    cause: String,
    count: usize,
}

impl Doubts {
    /// Records that a rule cannot judge an object.
    pub(crate) fn add(&mut self, object: impl Display, cause: &str) {
        match self.0.iter_mut().find(|doubt| doubt.cause == cause) {
            Some(doubt) => doubt.count += 1,
            None => self.0.push(Doubt {
                first: object.to_string(),
                cause: cause.to_owned(),
                count: 1,
            }),
        }
    }

    /// Records that a rule cannot judge a member, as that part was unavailable.
    pub(crate) fn add_missing(&mut self, evidence: &Evidence, pair: &Pair, part: MemberPart) {
        self.add(&pair.member.profile, &pair.reason(evidence, part));
    }

    /// Reports each doubt as inconclusive.
    pub(crate) fn tell(self, findings: &mut Findings) {
        for Doubt { first, cause, count } in self.0 {
            match count {
                1 => findings.cannot_tell(format!("{first}: {cause}")),
                _ => findings.cannot_tell(format!("{first} and {} more: {cause}", count - 1)),
            }
        }
    }
}
