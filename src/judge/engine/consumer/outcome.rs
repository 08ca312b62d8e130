//! What became of an expectation, one function for each kind.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    CallEvent, Expect, MemberCall, MemberCredential, Mention, MentionLocation, ObjectKey, PluginAnswer,
    Reason, ScenarioRun,
};
use jiff::Timestamp;

use super::{
    Case,
    act::{Act, is_for},
    expectation::{HAD_CALLED_AT_FIRST, NEVER_CALLED, NEVER_HAD_CALLED, TOO_SHORT},
    micros,
};
use crate::{
    engine::Answer,
    text::{counted, redacted},
    time::Micros,
};

/// The HTTP status with which a member refuses an expired credential.
const UNAUTHORIZED: u16 = 401;

impl<'e> Case<'_, 'e> {
    /// Compares what was expected with what the consumer did.
    pub(super) fn outcome(&self) -> Answer {
        match &self.expectation.expect {
            Expect::Called {} => match self.scenario() {
                Some(scenario) => self.control_called(scenario),
                None => self.called(),
            },
            Expect::CalledAs { other } => self.called_as(other),
            Expect::NotCalled {} => self.not_called(),
            Expect::StopsCalling {} => self.stops_calling(),
            Expect::Moves { from } => self.moves(from),
            Expect::RefusesCertificate {} => self.refuses_certificate(),
            Expect::UsesProxy { .. } => self.uses_proxy(),
            Expect::RenewsCredential {} => self.renews_credential(),
            Expect::KeepsConnections { writes } => self.keeps_connections(writes),
            Expect::NoPluginRun {} => self.no_plugin_run(),
            // A rule on finalizers judges all deletions.
            Expect::LetsGo {} => Answer::NotApplicable,
            Expect::Reports { other } => self.reports(other),
        }
    }

    fn called(&self) -> Answer {
        if !self.acts.is_empty() {
            return Answer::Kept;
        }
        match self.why_silent() {
            Some(reason) => Answer::Unknown(reason),
            None if self.run.consumer().rolls_out => Answer::Unknown(
                "the consumer rolls out, and may not have come to all members of its decision yet".into(),
            ),
            None => self.missing("no call"),
        }
    }

    /// A control beside a difficulty. A violation needs a consumer that was alive directly before, or before and after.
    fn control_called(&self, scenario: &ScenarioRun) -> Answer {
        let (begin, end) = (micros(scenario.from), micros(scenario.until));
        if self.acts.iter().any(|act| micros(act.at) <= end) {
            return Answer::Kept;
        }
        let Some(settle) = self.run.settle else {
            return Answer::Unknown(NEVER_CALLED.into());
        };
        if let Some(reason) = self.run.why_unlogged((begin, end)) {
            return Answer::Unknown(reason);
        }
        if end - begin < settle {
            return Answer::Unknown(TOO_SHORT.into());
        }
        let acts = self.run.all_acts();
        let is_just_before = |act: &Act| (begin - settle..=begin).contains(&micros(act.at));
        let (before, after): (Vec<Micros>, Vec<Micros>) =
            self.run.control_calls().partition(|at| *at < begin);
        let is_called_after = !after.is_empty() || !self.acts.is_empty();
        let was_called = before.iter().any(|at| is_called_after || begin - at <= settle);
        if was_called || acts.iter().any(is_just_before) {
            self.missing(format!("no call from {} to {}", scenario.from, scenario.until))
        } else {
            Answer::Unknown("the consumer may have ended before this scenario".into())
        }
    }

    fn called_as(&self, other: &ObjectKey) -> Answer {
        if self.run.consumer().one_shot {
            return Answer::NotApplicable;
        }
        let closed = self.last_closed(&self.expectation.url);
        let Some(closed) = closed else {
            return Answer::Unknown("the member did not end its connections".into());
        };
        let is_after = |act: &Act| micros(act.at) > closed;
        if self.acts.iter().any(is_after) {
            return Answer::Kept;
        }
        if let Some(reason) = self.why_idle() {
            return Answer::Unknown(reason);
        }
        let all = self.run.testbed.expectations.iter();
        let of_other = all.filter(|expectation| expectation.profile == *other);
        let urls: BTreeSet<&str> = of_other.map(|expectation| &*expectation.url).collect();
        let is_other_called = urls
            .iter()
            .any(|url| !self.run.acts(url, (closed + 1, self.period().1)).is_empty());
        let came_back = self.returns_within(self.period().1 - closed);
        if !is_other_called || !came_back {
            return Answer::Unknown("the consumer calls these members less often than the run waited".into());
        }
        self.wrong(format!(
            "no call since {}, when both members ended all connections, and calls of the other",
            crate::time::timestamp(closed)
        ))
    }

    /// When the member last ended its connections in the period.
    fn last_closed(&self, url: &str) -> Option<Micros> {
        let (from, until) = self.period();
        let calls = self.run.calls_to(url).iter();
        let closed = calls.filter(|call| matches!(call.what, CallEvent::Closed {}));
        closed
            .map(|call| micros(call.at))
            .filter(|at| (from..=until).contains(at))
            .max()
    }

    /// Whether the consumer watched the member, or came back to it in less than that time, before its connections ended.
    fn returns_within(&self, span: Micros) -> bool {
        let acts = self
            .run
            .acts(&self.expectation.url, (Micros::MIN, self.period().1));
        let is_often = acts
            .windows(2)
            .all(|pair| micros(pair[1].at) - micros(pair[0].at) <= span);
        acts.iter().any(Act::goes_on) || (acts.len() > 1 && is_often)
    }

    fn not_called(&self) -> Answer {
        match (self.acts.first(), self.why_idle()) {
            (Some(act), _) => self.wrong(act.to_string()),
            (None, Some(reason)) => Answer::Unknown(reason),
            (None, None) => Answer::Kept,
        }
    }

    fn stops_calling(&self) -> Answer {
        let Some(settled) = self.settled() else {
            return Answer::Unknown(NEVER_CALLED.into());
        };
        let url = &*self.expectation.url;
        let runs = self
            .run
            .plugin_runs()
            .filter(|run| is_for(run, url))
            .map(Act::plugin_run);
        let acts = self.acts.iter().copied().chain(runs);
        let late = acts.filter(|act| micros(act.at) > settled && micros(act.at) <= self.period().1);
        if let Some(act) = late.min_by_key(|act| (act.is_output(), act.at)) {
            return self.late(&act);
        }
        if let Some(reason) = self.why_idle() {
            return Answer::Unknown(reason);
        }
        let before = self.acts_before(url);
        let Some((first, last)) = before.first().zip(before.last()) else {
            return Answer::Unknown(NEVER_HAD_CALLED.into());
        };
        let is_long = micros(last.at) - micros(first.at) > self.run.settle.unwrap_or(Micros::MAX);
        if is_long || before.iter().any(Act::goes_on) {
            Answer::Kept
        } else {
            Answer::Unknown(HAD_CALLED_AT_FIRST.into())
        }
    }

    fn moves(&self, from: &str) -> Answer {
        let Some(settled) = self.settled() else {
            return Answer::Unknown(NEVER_CALLED.into());
        };
        let late = self.run.acts(from, (settled.saturating_add(1), self.period().1));
        let connections = || self.run.connections_to(&self.expectation.url, self.period());
        let has_failed = connections().next().is_some() && connections().all(|call| !call.was_trusted());
        let late = late.iter().min_by_key(|act| (act.is_output(), act.at));
        // An output with the new server excuses no calls of the old one.
        let is_call = late.is_some_and(|act| !act.is_output());
        let mut acts = self.acts.iter().filter(|act| !(is_call && act.is_output()));
        match (late, acts.next()) {
            (_, Some(_)) if has_failed => match self.why_idle() {
                None => self.missing("connections that failed"),
                Some(reason) => Answer::Unknown(reason),
            },
            (Some(act), Some(_)) => self.late(act).as_warning(),
            (Some(act), None) => self.late(act),
            (None, Some(_)) => Answer::Kept,
            (None, None) => {
                let reason = "the consumer called the member neither at its old nor at its new server; give it work with the hook `work`";
                Answer::Unknown(self.why_idle().unwrap_or_else(|| reason.into()))
            }
        }
    }

    /// An act after the settle time. Outputs stay when the consumer ends.
    fn late(&self, act: &Act) -> Answer {
        match self.why_idle().filter(|_| act.is_output()) {
            Some(reason) => Answer::Unknown(reason),
            None => self.wrong(act.to_string()),
        }
    }

    fn refuses_certificate(&self) -> Answer {
        let never_tried = format!(
            "the consumer never tried to reach {}, whose certificate is of another authority",
            redacted(&self.expectation.url)
        );
        self.each_connection(|call| !call.was_trusted(), never_tried)
    }

    fn uses_proxy(&self) -> Answer {
        let no_connection = "the consumer made no connection to the member behind a proxy";
        self.each_connection(|call| call.via_proxy, no_connection)
    }

    /// Kept if all connections in the period are as expected. The reason is for a period without any.
    fn each_connection(&self, is_expected: fn(&MemberCall) -> bool, none: impl Into<Reason>) -> Answer {
        let mut is_any = false;
        for call in self.run.connections_to(&self.expectation.url, self.period()) {
            if !is_expected(call) {
                let (url, at) = (redacted(&call.url), call.at);
                return self.wrong(format!("a connection to {url} at {at}"));
            }
            is_any = true;
        }
        match self.run.why_unlogged(self.period()) {
            Some(reason) => Answer::Unknown(reason),
            None if is_any => Answer::Kept,
            None => Answer::Unknown(none.into()),
        }
    }

    fn renews_credential(&self) -> Answer {
        let Some(settle) = self.run.settle else {
            return Answer::Unknown(NEVER_CALLED.into());
        };
        let expired = self.expired_credentials();
        let mut refused: BTreeMap<u64, Timestamp> = BTreeMap::new();
        let mut is_renewed = false;
        for (call, serial, code) in self.requests() {
            if code != UNAUTHORIZED {
                let is_successor = |(old, at): (&u64, &Timestamp)| *old < serial && *at <= call.at;
                is_renewed |= expired.iter().any(is_successor);
                continue;
            }
            if expired.get(&serial).is_none_or(|expires| call.at < *expires) {
                continue;
            }
            let first = *refused.entry(serial).or_insert(call.at);
            if micros(call.at) - micros(first) > settle {
                return self.not_renewed(call, first);
            }
        }
        if is_renewed {
            Answer::Kept
        } else {
            Answer::Unknown("the consumer did not call for long enough once a credential had expired".into())
        }
    }

    fn not_renewed(&self, call: &MemberCall, first: Timestamp) -> Answer {
        let span = micros(first)..=micros(call.at);
        let fails = self.run.plugin_runs().any(|run| {
            let is_own = is_for(run, &self.expectation.url) || run.cluster.is_none();
            let is_hung = matches!(run.answer, PluginAnswer::Hung {});
            span.contains(&micros(run.at)) && (is_hung || is_own && !super::act::gives_credential(run))
        });
        if fails {
            return Answer::Unknown("the plugin failed when the consumer needed a new credential".into());
        }
        let (url, at) = (redacted(&call.url), call.at);
        self.wrong(format!(
            "a request to {url} at {at} with one that was refused since {first}"
        ))
    }

    /// The member's credentials that expire, with the time.
    fn expired_credentials(&self) -> BTreeMap<u64, Timestamp> {
        let answers = self.run.plugin_runs().map(|run| &run.answer);
        let expiring = answers.filter_map(|answer| match answer {
            PluginAnswer::Credential {
                member,
                serial,
                expires,
            } if *member == self.expectation.member => Some((*serial, (*expires)?)),
            _ => None,
        });
        expiring.collect()
    }

    /// The requests to the member in the period with a credential of its own, each with the number of that and the status.
    fn requests(&self) -> impl Iterator<Item = (&'e MemberCall, u64, u16)> {
        let (from, until) = self.period();
        let calls = self
            .run
            .member_calls()
            .filter(move |call| (from..=until).contains(&micros(call.at)));
        let member = &*self.expectation.member;
        calls.filter_map(move |call| match &call.what {
            CallEvent::Request {
                credential: MemberCredential::Of { member: of, serial },
                code,
                ..
            } if *of == *member && call.member == *member => Some((call, *serial, *code)),
            _ => None,
        })
    }

    fn keeps_connections(&self, writes: &[Timestamp]) -> Answer {
        let url = &*self.expectation.url;
        if self.run.calls_to(url).is_empty() {
            return Answer::Unknown("the consumer never called the member whose profile was written".into());
        }
        if let Some(reason) = self.why_idle() {
            return Answer::Unknown(reason);
        }
        let own = self.occasions(url, writes, 0);
        let others = || self.addresses_called_before(writes);
        let usual = others()
            .map(|url| self.occasions(url, writes, 0))
            .max()
            .unwrap_or(0);
        let length = writes
            .first()
            .zip(writes.last())
            .map_or(0, |(first, last)| micros(*last) - micros(*first));
        let more = |url| {
            self.occasions(url, writes, 0)
                .saturating_sub(self.occasions(url, writes, length))
        };
        let of_all = others().map(more).min().unwrap_or(0);
        let excess = own.saturating_sub(usual).max(of_all);
        if excess == 0 {
            return Answer::Kept;
        }
        let answer = self.wrong(format!(
            "new connections after {own} of {}",
            counted(writes.len(), "write")
        ));
        if excess.saturating_mul(2) >= writes.len() {
            answer
        } else {
            answer.as_warning()
        }
    }

    /// The addresses of other members that the consumer called before the first write.
    fn addresses_called_before<'w>(
        &'w self,
        writes: &'w [Timestamp],
    ) -> impl Iterator<Item = &'e str> + use<'w, 'e> {
        let addresses = self.run.testbed.addresses.iter().map(|address| &*address.url);
        addresses.filter(|url| {
            let is_before = |call: &&MemberCall| writes.first().is_some_and(|first| call.at < *first);
            *url != self.expectation.url && self.run.calls_to(url).iter().any(is_before)
        })
    }

    /// After how many of these writes, or as much earlier, a new connection to a URL followed before the next write.
    fn occasions(&self, url: &str, writes: &[Timestamp], earlier: Micros) -> usize {
        let times: Vec<Micros> = writes.iter().map(|at| micros(*at) - earlier).collect();
        let end = times
            .last()
            .map(|last| last.saturating_add(self.run.settle.unwrap_or(0)));
        let ends = times.iter().copied().skip(1).chain(end);
        let connects = |(from, until): (Micros, Micros)| {
            let mut connections = self.run.connections_to(url, (from, until - 1));
            connections.any(MemberCall::was_trusted)
        };
        times
            .iter()
            .copied()
            .zip(ends)
            .filter(|span| connects(*span))
            .count()
    }

    fn no_plugin_run(&self) -> Answer {
        let (from, until) = self.period();
        let mut runs = self
            .run
            .plugin_runs()
            .filter(|run| (from..=until).contains(&micros(run.at)));
        match (
            runs.find(|run| is_for(run, &self.expectation.url)),
            self.why_idle(),
        ) {
            (Some(run), _) => self.wrong(Act::plugin_run(run).to_string()),
            (None, Some(reason)) => Answer::Unknown(reason),
            (None, None) => Answer::Kept,
        }
    }

    fn reports(&self, other: &ObjectKey) -> Answer {
        let Some(mentions) = &self.run.evidence.mentions else {
            return Answer::NotApplicable;
        };
        let names = |mention: &&Mention, profile: &ObjectKey| mention.names.contains(&profile.name);
        let said = mentions
            .found
            .iter()
            .filter(|mention| !matches!(mention.place, MentionLocation::Object { .. }));
        let about: Vec<&Mention> = said
            .filter(|mention| names(mention, &self.expectation.profile))
            .collect();
        if about.iter().any(|mention| names(mention, other)) {
            return Answer::Kept;
        }
        if let Some(reason) = self.why_idle() {
            return Answer::Unknown(reason);
        }
        if !mentions.log {
            return Answer::Unknown(
                "no event names both profiles, and the consumer's log was not given".into(),
            );
        }
        if !about.is_empty() {
            return Answer::Unknown(
                "the consumer names the profile alone, which may be a warning, or not".into(),
            );
        }
        self.missing("neither names this profile")
    }
}
