//! Whom a finding on what was seen after a step is held against.

use crate::{
    shared::answer::inferred,
    subjects::{Finding, Findings},
    text::by,
    who::{Doing, Hand, logged::Judged},
};

/// Reports what was found, unless the log tells that it was not the producer's doing, or lacks whose it was. Without a log
/// of that time, the step is the only known cause.
pub(crate) fn hold_against<T: Judged>(
    finding: Finding,
    doing: &Doing,
    is_logged: bool,
    findings: &mut Findings,
) {
    let what = || format!("{}: {}{}", finding.object.path(), finding.message, by(&doing.by));
    match doing.hand {
        Hand::Run => {}
        Hand::Other => findings.note(format!("{}, which is not the judged one", what())),
        Hand::Unknown if !doing.by.is_empty() => findings.cannot_tell(T::NOT_NAMED.after(format_args!(
            "{}, which may be the judged one or somebody else",
            what()
        ))),
        Hand::Unknown if is_logged => {
            findings.cannot_tell(format!("{}, and the audit log does not tell by whom", what()));
        }
        Hand::Producer { is_inferred } => {
            if is_inferred {
                findings.note(inferred(doing));
            }
            findings.report(finding);
        }
        Hand::Unknown => findings.report(finding),
    }
}
