//! The report that an implementer submits: the verdicts, and the evidence for judging again. It is public, so it names
//! no object of the hub; the evidence does.

mod change;
mod comment;
mod compose;
mod consistency;
mod diff;
mod document;
mod eligibility;
mod fitness;
mod matrix;
mod outcome;
mod public;
mod read;
mod submission;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use change::Change;
pub use comment::comment;
pub use compose::compose;
pub use consistency::Inconsistent;
pub(crate) use diff::trend;
pub use diff::{Diff, Incomparable, RuleChange, diff};
pub use document::{
    Claimed, Covered, Document, Entry, Group, Judged, KIND, Kept, Picked, Span, SuiteResult, Waived,
};
pub use eligibility::{Obstacle, not_real, obstacles};
pub use fitness::{Check, Fitness, Proof};
pub use read::ReadError;
pub use submission::{Submission, Unreadable};
pub use verify::{Held, Verified, verify, verify_with};
pub use write::{write, write_matrix};
