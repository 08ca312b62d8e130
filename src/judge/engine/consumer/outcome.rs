//! What became of an expectation, one function for each kind.

use evidence::{
    CallEvent, Expect, MemberCall, MemberCredential, Mention, MentionLocation, PluginAnswer, PluginCall,
    ScenarioRun,
};

use super::{
    Case,
    act::{Act, gives_credential, is_run_for},
    expectation::{TOO_BRIEFLY, TOO_SHORT},
    micros,
};
use crate::engine::prelude::*;

/// The HTTP status with which a member refuses an expired credential.
const UNAUTHORIZED: u16 = 401;
/// A consumer that takes two profiles for one connects to their members in turns, at least so often.
const FEWEST_TURNS: usize = 10;

/// The answer, or the reason why the evidence does not decide.
type ExpectationResult = Result<Answer, Reason>;

impl<'e> Case<'_, 'e> {
    /// Compares what was expected with what the consumer did.
    pub(super) fn outcome(&self) -> ExpectationResult {
        match &self.expectation.expect {
            Expect::Called {} => match self.scenario {
                Some(scenario) => self.control_called(scenario),
                None => self.called(),
            },
            Expect::CalledAs { other } => self.called_as(other),
            Expect::NotCalled {} => match self.acts.first() {
                Some(act) => Ok(self.wrong(act.to_string())),
                None => self.kept_if_alive(),
            },
            Expect::StopsCalling {} => self.stops_calling(),
            Expect::Moves { from } => self.moves(from),
            Expect::RefusesCertificate {} => {
                let url = redacted(&self.expectation.url);
                let never_tried = format!(
                    "the consumer never tried to reach {url}, whose certificate another authority signed"
                );
                self.each_connection(|call| !call.was_trusted(), never_tried)
            }
            Expect::UsesProxy { .. } => {
                let no_connection = "the consumer made no connection to the member behind a proxy";
                self.each_connection(|call| call.via_proxy, no_connection)
            }
            Expect::RenewsCredential {} => self.renews_credential(),
            Expect::KeepsConnections { writes } => self.keeps_connections(writes),
            Expect::NoPluginRun {} => self.no_plugin_run(),
            // A rule on finalizers judges all deletions.
            Expect::LetsGo {} => Ok(Answer::NotApplicable),
            Expect::Reports { other } => self.reports(other),
        }
    }

    fn kept_if_alive(&self) -> ExpectationResult {
        self.check_alive().map(|()| Answer::Kept)
    }

    fn called(&self) -> ExpectationResult {
        let mut acts = self.acts.iter();
        if acts.any(|act| !self.needs_calls() || !act.is_output()) {
            return Ok(Answer::Kept);
        }
        self.check_calls_all_controls()?;
        if self.run.consumer.rolls_out {
            let reason =
                "the consumer rolls out in steps, and may not have reached all members of its decision yet";
            return Err(reason.into());
        }
        Ok(self.missing("no call"))
    }

    /// A control next to a difficulty. A violation needs a consumer that was alive directly before, or before and after.
    fn control_called(&self, scenario: &ScenarioRun) -> ExpectationResult {
        let (begin, end) = (micros(scenario.from), micros(scenario.until));
        if self.acts.iter().any(|act| micros(act.at()) <= end) {
            return Ok(Answer::Kept);
        }
        let settle = self.run.settle.clone()?;
        self.run.check_logs(&(begin..=end))?;
        if end - begin < settle {
            return Err(TOO_SHORT.into());
        }
        let calls = self.run.calls().map(|act| micros(act.at()));
        let mut calls = calls.chain(self.run.control_calls());
        let is_called_after = !self.acts.is_empty() || self.run.control_calls().any(|at| at >= begin);
        let is_called_before = self.run.control_calls().any(|at| at < begin);
        if is_called_before && is_called_after || calls.any(|at| (begin - settle..=begin).contains(&at)) {
            Ok(self.missing(format!("no call from {} to {}", scenario.from, scenario.until)))
        } else {
            Err("the consumer may have ended before this scenario".into())
        }
    }

    fn called_as(&self, other: &ObjectKey) -> ExpectationResult {
        if self.run.consumer.one_shot || self.run.consumer.outputs_only {
            return Ok(Answer::NotApplicable);
        }
        let mut expectations = self.run.testbed.expectations.iter();
        let other_expectation = expectations.find(|expectation| expectation.profile == *other);
        let other_url = other_expectation.map_or("", |expectation| &*expectation.url);
        if let Some(turns) = self.turns(other_url) {
            return Ok(self.wrong(format!(
                "connections alternate between the two members: {turns} times"
            )));
        }
        let closing = self.run.member_calls().filter(|call| {
            matches!(call.what, CallEvent::Closed {})
                && call.url == self.expectation.url
                && self.period.contains(&micros(call.at))
        });
        let closing = closing.last().ok_or("the member did not end its connections")?.at;
        if self.acts.iter().any(|act| act.at() > closing) {
            return Ok(Answer::Kept);
        }
        self.check_alive()?;
        let (start, end) = (micros(closing), *self.period.end());
        let is_other_called = self.run.acts_for(other_url, start + 1..=end).next().is_some();
        if !is_other_called || !self.returns_within(end - start) {
            let reason = "the run was shorter than the consumer's interval between calls to these members";
            return Err(reason.into());
        }
        Ok(self.wrong(format!(
            "no call since {closing}, when both members ended all connections, and calls to the other"
        )))
    }

    /// How often the consumer changed between the members of two profiles, if it connects to these more often than to any other
    /// member: it keeps one of them, in turns. A consumer that polls connects to all members as often.
    fn turns(&self, other_url: &str) -> Option<usize> {
        let profile_url = &*self.expectation.url;
        let is_of_pair = |url: &str| url == profile_url || url == other_url;
        let connections = self.run.connections();
        let connections = connections.filter(|call| self.period.contains(&micros(call.at)));
        let urls = connections.map(|call| &*call.url);
        let (pair, unrelated): (Vec<&str>, Vec<&str>) = urls.partition(|url| is_of_pair(url));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        unrelated
            .into_iter()
            .for_each(|url| *counts.entry(url).or_default() += 1);
        let usual = counts.into_values().max()?;
        let count = pair.iter().filter(|url| **url == profile_url).count();
        let turns = pair.windows(2).filter(|turn| turn[0] != turn[1]).count();
        (turns >= FEWEST_TURNS && count > 2 * usual).then_some(turns)
    }

    /// Whether the consumer watched the member, or came back to it in less than that time, before its connections ended.
    fn returns_within(&self, span: Micros) -> bool {
        let acts = self.acts_until(*self.period.end());
        let returns = |pair: &[Act]| micros(pair[1].at()) - micros(pair[0].at()) <= span;
        acts.iter().any(Act::goes_on) || (acts.len() > 1 && acts.windows(2).all(returns))
    }

    fn acts_until(&self, end: Micros) -> Vec<Act<'e>> {
        let acts = self.run.acts_for(&self.expectation.url, Micros::MIN..=end);
        acts.filter(|act| !act.gives_credential()).collect()
    }

    fn stops_calling(&self) -> ExpectationResult {
        if let Some(act) = self.late_act(&self.expectation.url)? {
            return self.late(&act);
        }
        self.check_alive()?;
        let before = self.acts_until(*self.period.start() - 1);
        let times = before.iter().map(|act| micros(act.at()));
        let length = times.clone().max().unwrap_or(0) - times.min().unwrap_or(0);
        if length > self.run.settle.clone()? || before.iter().any(Act::goes_on) {
            Ok(Answer::Kept)
        } else {
            Err(TOO_BRIEFLY.into())
        }
    }

    fn moves(&self, from: &str) -> ExpectationResult {
        let late = self.late_act(from)?;
        let connections: Vec<&MemberCall> = self.connections().collect();
        let has_failed = !connections.is_empty() && connections.iter().all(|call| !call.was_trusted());
        if has_failed && !self.acts.is_empty() {
            self.check_alive()?;
            return Ok(self.missing("connections that failed"));
        }
        // An output with the new server excuses no calls of the old one.
        let is_call = late.is_some_and(|act| !act.is_output());
        let is_followed = self.acts.iter().any(|act| !(is_call && act.is_output()));
        match late {
            Some(act) if is_followed => Ok(self.late(&act)?.as_warning()),
            Some(act) => self.late(&act),
            None if is_followed => Ok(Answer::Kept),
            None => {
                self.check_alive()?;
                Err("the consumer called the member neither at its old nor at its new server; give it work with the hook `work`".into())
            }
        }
    }

    /// The first act for a URL after the settle time; an output if there is no other.
    fn late_act(&self, url: &str) -> Result<Option<Act<'e>>, Reason> {
        let late = self.settled_at()?.saturating_add(1)..=*self.period.end();
        let acts = self.run.acts_for(url, late);
        Ok(acts.min_by_key(|act| (act.is_output(), act.at())))
    }

    /// An act after the settle time. Outputs stay when the consumer ends.
    fn late(&self, act: &Act) -> ExpectationResult {
        if act.is_output() {
            self.check_alive()?;
        }
        Ok(self.wrong(act.to_string()))
    }

    /// Kept if all connections in the period are as expected. The reason is for a period without any.
    fn each_connection(
        &self,
        is_expected: fn(&MemberCall) -> bool,
        reason: impl Into<Reason>,
    ) -> ExpectationResult {
        if let Some(call) = self.connections().find(|call| !is_expected(call)) {
            let (url, at) = (redacted(&call.url), call.at);
            return Ok(self.wrong(format!("a connection to {url} at {at}")));
        }
        self.run.check_logs(&self.period)?;
        let is_any = self.connections().next().is_some();
        is_any.then_some(Answer::Kept).ok_or(reason.into())
    }

    /// The connections to the member in the period that sent a TLS hello.
    fn connections(&self) -> impl Iterator<Item = &'e MemberCall> {
        self.acts.iter().filter_map(Act::connection)
    }

    fn renews_credential(&self) -> ExpectationResult {
        let settle = self.run.settle.clone()?;
        let expiries = self.expired_credentials();
        let mut rejections: BTreeMap<u64, Timestamp> = BTreeMap::new();
        let mut is_renewed = false;
        for (call, serial, code) in self.requests() {
            if code != UNAUTHORIZED {
                let is_successor = |(old, at): (&u64, &Timestamp)| *old < serial && *at <= call.at;
                is_renewed |= expiries.iter().any(is_successor);
            } else if expiries.get(&serial).is_some_and(|expires| *expires <= call.at) {
                let first = *rejections.entry(serial).or_insert(call.at);
                if micros(call.at) - micros(first) > settle {
                    return self.not_renewed(call, first);
                }
            }
        }
        if is_renewed {
            Ok(Answer::Kept)
        } else {
            Err("the consumer did not call for long enough once a credential had expired".into())
        }
    }

    fn not_renewed(&self, call: &MemberCall, first: Timestamp) -> ExpectationResult {
        let fails = self.run.plugin_runs().any(|run| {
            let is_for_member = is_run_for(run, &self.expectation.url) || run.cluster.is_none();
            let is_hung = matches!(run.answer, PluginAnswer::Hung {});
            (first..=call.at).contains(&run.at) && (is_hung || is_for_member && !gives_credential(run))
        });
        if fails {
            return Err("the plugin failed when the consumer needed a new credential".into());
        }
        let (url, at) = (redacted(&call.url), call.at);
        Ok(self.wrong(format!(
            "a request to {url} at {at} with a credential that was rejected since {first}"
        )))
    }

    fn expired_credentials(&self) -> BTreeMap<u64, Timestamp> {
        let expiries = self.run.plugin_runs().filter_map(|run| match &run.answer {
            PluginAnswer::Credential {
                member,
                serial,
                expires,
            } if *member == self.expectation.member => Some((*serial, (*expires)?)),
            _ => None,
        });
        expiries.collect()
    }

    /// The requests in the period with a credential of the member, each with the number of that and the status.
    fn requests(&self) -> impl Iterator<Item = (&'e MemberCall, u64, u16)> {
        self.acts.iter().filter_map(|act| match act {
            Act::Call(call) => match &call.what {
                CallEvent::Request {
                    credential: MemberCredential::Of { member, serial },
                    code,
                    ..
                } if *member == self.expectation.member => Some((*call, *serial, *code)),
                _ => None,
            },
            _ => None,
        })
    }

    fn keeps_connections(&self, writes: &[Timestamp]) -> ExpectationResult {
        let url = &*self.expectation.url;
        if self.run.member_calls().all(|call| call.url != url) {
            return Err("the consumer never called the member whose profile was written".into());
        }
        self.check_alive()?;
        let (Some(first), Some(last)) = (writes.first(), writes.last()) else {
            return Ok(Answer::Kept);
        };
        let occasions_of_url = self.occasions(writes, 0).get(url).map_or(0, BTreeSet::len);
        let earlier = self.occasions(writes, micros(*last) - micros(*first));
        let of_other_urls = earlier.iter().filter(|(other_url, _)| **other_url != url);
        let usual = of_other_urls.map(|(_, occasions)| occasions.len()).max();
        let excess = occasions_of_url.saturating_sub(usual.unwrap_or(0));
        if excess == 0 {
            return Ok(Answer::Kept);
        }
        let count = counted(writes.len(), "write");
        let answer = self.wrong(format!("new connections after {occasions_of_url} of {count}"));
        let is_often = excess.saturating_mul(2) >= writes.len();
        Ok(if is_often { answer } else { answer.as_warning() })
    }

    /// After which of these writes, or as much earlier, a new connection followed before the next write, by URL.
    fn occasions(&self, writes: &[Timestamp], earlier: Micros) -> BTreeMap<&'e str, BTreeSet<usize>> {
        let settle = self.run.settle.clone().unwrap_or(0);
        let mut times: Vec<Micros> = writes.iter().map(|at| micros(*at) - earlier).collect();
        times.extend(times.last().map(|last| last.saturating_add(settle)));
        let mut occasions: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for call in self.run.connections().filter(|call| call.was_trusted()) {
            let number = times.partition_point(|at| *at <= micros(call.at));
            if (1..times.len()).contains(&number) {
                occasions.entry(&call.url).or_default().insert(number);
            }
        }
        occasions
    }

    /// A profile without a server is recognized by the plugin's configuration, which names its member.
    fn no_plugin_run(&self) -> ExpectationResult {
        let url = &*self.expectation.url;
        let runs = self.run.plugin_runs().filter(|run| is_run_for(run, url));
        let mut is_unknown = false;
        for run in runs.filter(|run| self.period.contains(&micros(run.at))) {
            match configured_member(run) {
                Some(member) if url.is_empty() && member != self.expectation.member => {}
                None if url.is_empty() => is_unknown = true,
                _ => return Ok(self.wrong(Act::PluginRun(run).to_string())),
            }
        }
        if is_unknown {
            let reason =
                "the consumer ran the plugin with neither a server nor the configuration of a profile";
            return Err(reason.into());
        }
        self.kept_if_alive()
    }

    fn reports(&self, other: &ObjectKey) -> ExpectationResult {
        let Some(mentions) = &self.run.evidence.mentions else {
            return Ok(Answer::NotApplicable);
        };
        let mut reports: Vec<&Mention> = mentions.items.iter().collect();
        reports.retain(|mention| {
            let is_report = !matches!(mention.place, MentionLocation::Object { .. });
            is_report && mention.names.contains(&self.expectation.profile.name)
        });
        if reports.iter().any(|report| report.names.contains(&other.name)) {
            return Ok(Answer::Kept);
        }
        self.check_alive()?;
        if !reports.is_empty() || !mentions.log {
            return Err("no Event and no line of the configured log names both profiles".into());
        }
        Ok(self.missing("no event or log line names this profile"))
    }
}

/// The member that the plugin's configuration names.
fn configured_member(run: &PluginCall) -> Option<String> {
    let config = run.cluster.as_ref()?.config.as_ref()?.value();
    Some(config.get("member")?.as_str()?.to_owned())
}
