//! What others did is not held against the producer that is judged.

use crate::{
    subjects::{Finding, Findings},
    text::{by, listed},
    who::{Doing, Hand, logged::Judged},
};

/// Whether what was found is held against the producer. What somebody else did is noted, and what may be somebody else's doing
/// is doubted. Without a known author, it is doubted where evidence `is_asked` for one; elsewhere, the producer is the only
/// known cause.
pub(crate) fn is_held_against<T: Judged>(
    doing: &Doing,
    finding: &Finding,
    is_asked: bool,
    findings: &mut Findings,
) -> bool {
    let found = || format!("{}: {}{}", finding.object.path(), finding.message, by(&doing.by));
    match doing.hand {
        Hand::Producer { is_inferred } => {
            if is_inferred {
                findings.note(inferred::<T>(doing));
            }
            return true;
        }
        Hand::Unknown if doing.by.is_empty() && !is_asked => return true,
        Hand::Unknown if doing.by.is_empty() => findings.cannot_tell(format!(
            "{}, and neither an audit log nor managedFields tell by whom",
            found()
        )),
        Hand::Unknown => {
            let found = format!("{}, which may be {} or somebody else", found(), T::ROLE);
            if doing.are_named {
                findings.cannot_tell(found);
            } else {
                findings.cannot_tell(T::NOT_NAMED.after(found));
            }
        }
        Hand::Other => findings.note(format!("{}, which is not {}", found(), T::ROLE)),
        Hand::Run => {}
    }
    false
}

/// Says that nobody claimed the names by which a producer is known.
pub(crate) fn inferred<T: Judged>(doing: &Doing) -> String {
    let by = listed(&doing.by);
    format!(
        "{by} counts as {}, as nobody else published what is judged (inferred)",
        T::ROLE
    )
}
