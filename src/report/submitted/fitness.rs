//! What a submitted report is worth: whether it follows from its evidence.

use super::{
    change::Change, consistency::Inconsistent, document::Document, eligibility::Obstacle, verify::Verified,
};

/// What came of checking a report.
#[derive(Debug)]
pub struct Check {
    /// How it contradicts itself, if it does.
    pub contradiction: Option<Inconsistent>,
    /// What its evidence says of it.
    pub proof: Proof,
}

/// What the evidence says of a report.
#[derive(Debug)]
pub enum Proof {
    /// It was judged again.
    Judged(Verified),
    /// It is not there.
    Missing,
    /// It cannot be read, for that reason.
    Unreadable(String),
}

/// What a report is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitness {
    /// Its evidence reproduces it.
    Holds,
    /// There is no evidence, or it cannot be read.
    NotVerified,
    /// Its evidence says otherwise, or it contradicts itself.
    DoesNotHold,
}

impl Check {
    /// Checks a report whose evidence came to that.
    pub fn of(document: &Document, proof: Proof) -> Self {
        Self {
            contradiction: document.entries().err(),
            proof,
        }
    }

    /// What the report is worth.
    pub fn fitness(&self) -> Fitness {
        if self.contradiction.is_some() {
            return Fitness::DoesNotHold;
        }
        match &self.proof {
            Proof::Missing | Proof::Unreadable(_) => Fitness::NotVerified,
            Proof::Judged(verified) if verified.differences.is_empty() => Fitness::Holds,
            Proof::Judged(_) => Fitness::DoesNotHold,
        }
    }

    /// The fitness with its reason, in a few words.
    pub fn describe(&self) -> String {
        match (self.fitness(), &self.proof) {
            (Fitness::Holds, _) => "holds: its evidence reproduces it".to_owned(),
            (Fitness::NotVerified, Proof::Unreadable(_)) => {
                "not verified: its evidence cannot be read".to_owned()
            }
            (Fitness::NotVerified, _) => "not verified: no evidence".to_owned(),
            (Fitness::DoesNotHold, _) if self.contradiction.is_some() => {
                "does not hold: it contradicts itself".to_owned()
            }
            (Fitness::DoesNotHold, _) => "does not hold: its evidence says otherwise".to_owned(),
        }
    }

    /// Where the report and its evidence differ; verdicts first, as the counts follow from them.
    pub fn differences(&self) -> Vec<&Change> {
        let Proof::Judged(verified) = &self.proof else {
            return Vec::new();
        };
        let mut differences: Vec<&Change> = verified.differences.iter().collect();
        differences.sort_by_key(|change| !change.at.contains('/'));
        differences
    }

    /// What keeps the report from being submitted, as its evidence shows.
    pub fn obstacles(&self) -> &[Obstacle] {
        match &self.proof {
            Proof::Judged(verified) => &verified.obstacles,
            Proof::Missing | Proof::Unreadable(_) => &[],
        }
    }

    /// Notes for a person.
    pub fn notes(&self) -> &[String] {
        match &self.proof {
            Proof::Judged(verified) => &verified.notes,
            Proof::Missing | Proof::Unreadable(_) => &[],
        }
    }
}

impl Fitness {
    /// It in two or three words.
    pub fn name(self) -> &'static str {
        match self {
            Fitness::Holds => "holds",
            Fitness::NotVerified => "not verified",
            Fitness::DoesNotHold => "does not hold",
        }
    }
}
