//! What others did is not held against the judged manager.

use crate::{
    reasons::MANAGER_NOT_NAMED,
    subjects::{Finding, Findings},
    text::by,
    who::{Doing, Hand},
};

/// Whether what was found is the manager's doing. If not, it is noted, and if nothing tells, it is doubted.
pub(crate) fn is_the_managers(doing: &Doing, finding: &Finding, findings: &mut Findings) -> bool {
    let found = format!("{}: {}", finding.object.path(), finding.message);
    match doing.hand {
        Hand::Producer { .. } => return true,
        Hand::Run => {}
        Hand::Other => findings.note(format!("{found}{}, which is not the manager", by(&doing.by))),
        Hand::Unknown if doing.by.is_empty() => {
            findings.cannot_tell(format!("{found}, and nothing tells by whom"));
        }
        Hand::Unknown => findings.cannot_tell(MANAGER_NOT_NAMED.after(format_args!(
            "{found}{}, which may be the manager or somebody else",
            by(&doing.by)
        ))),
    }
    false
}
