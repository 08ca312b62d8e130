//! How rules judge a call, and a call that was to come.

use evidence::{Called, MemberCall, Reason};

use super::Play;
use crate::{
    subjects::{Finding, Findings},
    text::redacted,
};

/// Why nobody can tell whether a call was permitted.
pub(crate) const UNSEEN: &str = "nobody watched what permitted a call of the member";

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

/// Whether the consumer goes on to call a member: it watched it, or called it over more time than it may take to act once.
pub(crate) fn goes_on(play: &Play<'_>, calls: &[&&MemberCall]) -> bool {
    let times = || calls.iter().map(|call| call.at.as_microsecond());
    let lasted = times()
        .max()
        .zip(times().min())
        .map_or(0, |(last, first)| last - first);
    let is_watch = |call: &&&MemberCall| matches!(call.what, Called::Request { watch: true, .. });
    lasted > play.settle || calls.iter().any(is_watch)
}

/// Tells of a call of a member.
pub(crate) fn call_in_words(call: &MemberCall) -> String {
    format!("a call of {} at {}", redacted(&call.url), call.at)
}
