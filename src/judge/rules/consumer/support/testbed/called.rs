//! How rules judge a call, and a call that was to come.

use std::collections::BTreeSet;

use evidence::{CallEvent, MemberCall, Reason};

use super::{
    Play,
    play::{Subject, held_throughout},
};
use crate::{
    rules::consumer::support::time::{Edge, Known, Micros, While, Why},
    subjects::{Finding, Findings},
    text::redacted,
};

/// Why it is unknown whether a call was permitted.
pub(crate) const UNSEEN: &str = "the profile was not watched when the consumer called its member";

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
pub(crate) fn goes_on(play: &Play<'_>, calls: &[&MemberCall]) -> bool {
    let times = || calls.iter().map(|call| call.at.as_microsecond());
    let lasted = times()
        .max()
        .zip(times().min())
        .map_or(0, |(last, first)| last - first);
    lasted > play.settle || calls.iter().any(|call| is_watch(call))
}

/// The same, and it never left the member alone for longer than that.
pub(crate) fn comes_back_within(span: Micros, play: &Play<'_>, calls: &[&MemberCall]) -> bool {
    let mut times: Vec<Micros> = calls.iter().map(|call| call.at.as_microsecond()).collect();
    times.sort_unstable();
    let is_often = times.windows(2).all(|pair| pair[1] - pair[0] <= span);
    goes_on(play, calls) && (is_often || calls.iter().any(|call| is_watch(call)))
}

fn is_watch(call: &MemberCall) -> bool {
    matches!(call.what, CallEvent::Request { watch: true, .. })
}

impl<'e> Play<'e> {
    /// The first call of one of these servers while something held that permits none: for as long as the consumer may go on as
    /// before, or since the profile is there.
    pub(crate) fn call_during(
        &self,
        subject: &Subject<'e>,
        urls: &BTreeSet<&str>,
        held: &While,
    ) -> Option<&'e MemberCall> {
        self.call_against(subject, urls, held, &held.not())
    }

    /// The first call of one of these servers against what held: for as long as the consumer may go on as before, nothing permitted
    /// it. What is new gives no reason to go on.
    pub(crate) fn call_against(
        &self,
        subject: &Subject<'e>,
        urls: &BTreeSet<&str>,
        held: &While,
        permitted: &While,
    ) -> Option<&'e MemberCall> {
        let forbidden = permitted.not();
        let calls = self.calls_to_any(urls);
        let late = calls.filter(|call| {
            let at = call.at.as_microsecond();
            let since = at.saturating_sub(self.settle);
            held_throughout(&forbidden, since.max(subject.there_since()), at)
                && held.within(Edge::between(since, since), self.settle) == Known::Yes
        });
        late.min_by_key(|call| call.at)
    }

    /// Whether a call of one of these servers may be against what held: the profile was not watched at its moment.
    pub(crate) fn may_be_against(&self, subject: &Subject<'e>, urls: &BTreeSet<&str>, held: &While) -> bool {
        let mut calls = self.calls_to_any(urls);
        let begin = self
            .testbed
            .scenarios
            .first()
            .map(|scene| scene.from.as_microsecond());
        let there = subject.timeline.while_(|_| true);
        calls.any(|call| {
            let at = call.at.as_microsecond();
            // Before all scenes, the consumer went on as it was.
            begin.is_some_and(|begin| at >= begin)
                && held.at(Edge::at(at)) != Known::No
                && matches!(there.at(Edge::at(at)), Known::Unknown(whys) if whys.contains(&Why::Gap))
        })
    }
}

/// Tells of a call of a member.
pub(crate) fn call_in_words(call: &MemberCall) -> String {
    format!("a call of {} at {}", redacted(&call.url), call.at)
}
