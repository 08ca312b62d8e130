//! How rules judge a call, and a call that was to come.

use evidence::{MemberCall, Reason};

use crate::{
    subjects::{Finding, Findings},
    text::redacted,
};

/// Judges whether the consumer set out for a member that it was to call. If it did not, that is a finding.
pub(crate) fn expect_call(
    called: Result<bool, Reason>,
    findings: &mut Findings,
    no_call: impl FnOnce() -> Finding,
) {
    match called {
        Ok(true) => findings.examine(),
        Ok(false) => {
            findings.examine();
            findings.report(no_call());
        }
        Err(why) => findings.cannot_tell(why),
    }
}

/// Tells of a call of a member.
pub(crate) fn call_in_words(call: &MemberCall) -> String {
    format!("a call of {} at {}", redacted(&call.url), call.at)
}
