//! What became of an expectation, one function for each kind.

use evidence::{
    CallEvent, Expect, MemberCall, MemberCredential, Mention, MentionLocation, PluginAnswer, PluginCall,
    ScenarioRun,
};

use super::{
    Case,
    expectation::{Act, HAD_CALLED_AT_FIRST, NEVER_HAD_CALLED, TOO_SHORT, gives_credential, is_run_for},
    micros,
};
use crate::engine::prelude::*;

/// The HTTP status with which a member refuses an expired credential.
const UNAUTHORIZED: u16 = 401;
/// A consumer that takes two profiles for one connects to their members in turns, at least so often.
const FEWEST_TURNS: usize = 10;

/// The answer, or the reason why the evidence does not decide.
type Outcome = Result<Answer, Reason>;

impl<'e> Case<'_, 'e> {
    /// Compares what was expected with what the consumer did.
    pub(super) fn outcome(&self) -> Outcome {
        match &self.expectation.expect {
            Expect::Called {} => match self.scenario() {
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

    fn kept_if_alive(&self) -> Outcome {
        self.check_alive().map(|()| Answer::Kept)
    }

    fn called(&self) -> Outcome {
        if !self.acts.is_empty() {
            return Ok(Answer::Kept);
        }
        self.check_calls_all_controls()?;
        if self.run.consumer().rolls_out {
            let reason =
                "the consumer rolls out in steps, and may not have reached all members of its decision yet";
            return Err(reason.into());
        }
        Ok(self.missing("no call"))
    }

    /// A control next to a difficulty. A violation needs a consumer that was alive directly before, or before and after.
    fn control_called(&self, scenario: &ScenarioRun) -> Outcome {
        let (begin, end) = (micros(scenario.from), micros(scenario.until));
        if self.acts.iter().any(|act| micros(act.at()) <= end) {
            return Ok(Answer::Kept);
        }
        let settle = self.run.settle.clone()?;
        self.run.check_logged(&(begin..=end))?;
        if end - begin < settle {
            return Err(TOO_SHORT.into());
        }
        let is_called_after = !self.acts.is_empty() || self.run.control_calls().any(|at| at >= begin);
        let is_recent = |at: Micros| (begin - settle..=begin).contains(&at);
        let mut called_before = self.run.control_calls().filter(|at| *at < begin);
        let was_called = called_before.any(|at| is_called_after || is_recent(at));
        if was_called || self.run.all_acts().any(|act| is_recent(micros(act.at()))) {
            Ok(self.missing(format!("no call from {} to {}", scenario.from, scenario.until)))
        } else {
            Err("the consumer may have ended before this scenario".into())
        }
    }

    fn called_as(&self, other: &ObjectKey) -> Outcome {
        let claims = self.run.claims();
        if claims.one_shot || claims.outputs_only {
            return Ok(Answer::NotApplicable);
        }
        let expectations = self.run.testbed.expectations.iter();
        let of_other = expectations.filter(|expectation| expectation.profile == *other);
        let other_urls: Vec<&str> = of_other.map(|expectation| &*expectation.url).collect();
        if let Some(turns) = self.turns(&other_urls) {
            return Ok(self.wrong(format!(
                "connections alternate between the two members: {turns} times"
            )));
        }
        let until = *self.period().end();
        let calls = self.run.calls_to(&self.expectation.url);
        let closed = calls.filter(|call| matches!(call.what, CallEvent::Closed {}));
        let closed = closed.map(|call| micros(call.at));
        let closed = closed.filter(|at| self.period().contains(at)).max();
        let closed = closed.ok_or("the member did not end its connections")?;
        if self.acts.iter().any(|act| micros(act.at()) > closed) {
            return Ok(Answer::Kept);
        }
        self.check_alive()?;
        let mut other_urls = other_urls.iter();
        let is_other_called = other_urls.any(|url| !self.run.acts(url, closed + 1..=until).is_empty());
        if !is_other_called || !self.returns_within(until - closed) {
            return Err(
                "the run was shorter than the consumer's interval between calls to these members".into(),
            );
        }
        let closed = timestamp(closed);
        Ok(self.wrong(format!(
            "no call since {closed}, when both members ended all connections, and calls to the other"
        )))
    }

    /// How often the consumer changed between the members of two profiles, if it connects to these more often than to any other
    /// member: it keeps one of them, in turns. A consumer that polls connects to all members as often.
    fn turns(&self, other_urls: &[&str]) -> Option<usize> {
        let own_url = &*self.expectation.url;
        let count = |url: &str| self.run.connections_to(url, self.period()).count();
        let connections = self.run.member_calls().filter(|call| super::is_connection(call));
        let connections = connections.filter(|call| self.period().contains(&micros(call.at)));
        let mut urls: Vec<&str> = connections.map(|call| &*call.url).collect();
        urls.retain(|url| *url == own_url || other_urls.contains(url));
        let turns = urls.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let addresses = self.run.testbed.addresses.iter().map(|address| &*address.url);
        let unrelated = addresses.filter(|url| *url != own_url && !other_urls.contains(url));
        let usual = unrelated.map(count).max().filter(|usual| *usual > 0)?;
        (turns >= FEWEST_TURNS && count(own_url) > 2 * usual).then_some(turns)
    }

    /// Whether the consumer watched the member, or came back to it in less than that time, before its connections ended.
    fn returns_within(&self, span: Micros) -> bool {
        let until = *self.period().end();
        let acts = self.run.acts(&self.expectation.url, Micros::MIN..=until);
        let returns = |pair: &[Act]| micros(pair[1].at()) - micros(pair[0].at()) <= span;
        acts.iter().any(Act::goes_on) || (acts.len() > 1 && acts.windows(2).all(returns))
    }

    fn stops_calling(&self) -> Outcome {
        let settled = self.settled_period()?;
        let url = &*self.expectation.url;
        let runs = self.run.plugin_runs().filter(|run| is_run_for(run, url));
        let acts = self.acts.iter().copied().chain(runs.map(Act::PluginRun));
        let late = acts.filter(|act| settled.contains(&micros(act.at())));
        if let Some(act) = late.min_by_key(|act| (act.is_output(), act.at())) {
            return self.late(&act);
        }
        self.check_alive()?;
        let before = self.run.acts(url, Micros::MIN..=self.period().start() - 1);
        let (Some(first), Some(last)) = (before.first(), before.last()) else {
            return Err(NEVER_HAD_CALLED.into());
        };
        let is_long = micros(last.at()) - micros(first.at()) > self.run.settle.clone()?;
        if is_long || before.iter().any(Act::goes_on) {
            Ok(Answer::Kept)
        } else {
            Err(HAD_CALLED_AT_FIRST.into())
        }
    }

    fn moves(&self, from: &str) -> Outcome {
        let late = self.run.acts(from, self.settled_period()?);
        let late = late.iter().min_by_key(|act| (act.is_output(), act.at()));
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
            Some(act) if is_followed => Ok(self.late(act)?.as_warning()),
            Some(act) => self.late(act),
            None if is_followed => Ok(Answer::Kept),
            None => {
                self.check_alive()?;
                Err("the consumer called the member neither at its old nor at its new server; give it work with the hook `work`".into())
            }
        }
    }

    /// An act after the settle time. Outputs stay when the consumer ends.
    fn late(&self, act: &Act) -> Outcome {
        if act.is_output() {
            self.check_alive()?;
        }
        Ok(self.wrong(act.to_string()))
    }

    /// Kept if all connections in the period are as expected. The reason is for a period without any.
    fn each_connection(&self, is_expected: fn(&MemberCall) -> bool, none: impl Into<Reason>) -> Outcome {
        if let Some(call) = self.connections().find(|call| !is_expected(call)) {
            let (url, at) = (redacted(&call.url), call.at);
            return Ok(self.wrong(format!("a connection to {url} at {at}")));
        }
        self.run.check_logged(&self.period())?;
        let is_any = self.connections().next().is_some();
        is_any.then_some(Answer::Kept).ok_or(none.into())
    }

    /// The connections to the member in the period that sent a TLS hello.
    fn connections(&self) -> impl Iterator<Item = &'e MemberCall> {
        self.run.connections_to(&self.expectation.url, self.period())
    }

    fn renews_credential(&self) -> Outcome {
        let settle = self.run.settle.clone()?;
        let expired = self.expired_credentials();
        let mut refused: BTreeMap<u64, Timestamp> = BTreeMap::new();
        let mut is_renewed = false;
        for (call, serial, code) in self.requests() {
            if code != UNAUTHORIZED {
                let is_successor = |(old, at): (&u64, &Timestamp)| *old < serial && *at <= call.at;
                is_renewed |= expired.iter().any(is_successor);
            } else if expired.get(&serial).is_some_and(|expires| *expires <= call.at) {
                let first = *refused.entry(serial).or_insert(call.at);
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

    fn not_renewed(&self, call: &MemberCall, first: Timestamp) -> Outcome {
        let span = first..=call.at;
        let fails = self.run.plugin_runs().any(|run| {
            let is_own = is_run_for(run, &self.expectation.url) || run.cluster.is_none();
            let is_hung = matches!(run.answer, PluginAnswer::Hung {});
            span.contains(&run.at) && (is_hung || is_own && !gives_credential(run))
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
        let (member, period) = (&*self.expectation.member, self.period());
        let calls = self.run.member_calls();
        let calls = calls.filter(move |call| period.contains(&micros(call.at)));
        calls.filter_map(move |call| match &call.what {
            CallEvent::Request {
                credential: MemberCredential::Of { member: of, serial },
                code,
                ..
            } if *of == *member && call.member == *member => Some((call, *serial, *code)),
            _ => None,
        })
    }

    fn keeps_connections(&self, writes: &[Timestamp]) -> Outcome {
        let url = &*self.expectation.url;
        if self.run.calls_to(url).next().is_none() {
            return Err("the consumer never called the member whose profile was written".into());
        }
        self.check_alive()?;
        let (Some(first), Some(last)) = (writes.first(), writes.last()) else {
            return Ok(Answer::Kept);
        };
        let length = micros(*last) - micros(*first);
        let own = self.occasions(url, writes, 0);
        let addresses = self.run.testbed.addresses.iter().map(|address| &*address.url);
        let mut others: Vec<&str> = addresses.filter(|other| *other != url).collect();
        others.retain(|other| self.run.calls_to(other).any(|call| call.at < *first));
        let occasions = |other| [0, length].map(|earlier| self.occasions(other, writes, earlier));
        let others: Vec<[usize; 2]> = others.into_iter().map(occasions).collect();
        let usual = others.iter().map(|[during, _]| *during).max().unwrap_or(0);
        let more = others
            .iter()
            .map(|[during, before]| during.saturating_sub(*before));
        let excess = own.saturating_sub(usual).max(more.min().unwrap_or(0));
        if excess == 0 {
            return Ok(Answer::Kept);
        }
        let count = counted(writes.len(), "write");
        let answer = self.wrong(format!("new connections after {own} of {count}"));
        let is_often = excess.saturating_mul(2) >= writes.len();
        Ok(if is_often { answer } else { answer.as_warning() })
    }

    /// After how many of these writes, or as much earlier, a new connection to a URL followed before the next write.
    fn occasions(&self, url: &str, writes: &[Timestamp], earlier: Micros) -> usize {
        let times: Vec<Micros> = writes.iter().map(|at| micros(*at) - earlier).collect();
        let settle = self.run.settle.clone().unwrap_or(0);
        let connects = |(index, from): &(usize, &Micros)| {
            let next = times.get(index + 1).copied();
            let end = next.unwrap_or(from.saturating_add(settle));
            let mut connections = self.run.connections_to(url, **from..=end - 1);
            connections.any(MemberCall::was_trusted)
        };
        times.iter().enumerate().filter(connects).count()
    }

    /// A profile without a server is recognized by the plugin's configuration, which names its member.
    fn no_plugin_run(&self) -> Outcome {
        let is_in = |run: &&PluginCall| {
            self.period().contains(&micros(run.at)) && is_run_for(run, &self.expectation.url)
        };
        let runs: Vec<&PluginCall> = self.run.plugin_runs().filter(is_in).collect();
        let member = |run: &PluginCall| {
            let config = run.cluster.as_ref()?.config.as_ref()?.value();
            Some(config.get("member")?.as_str()?.to_owned())
        };
        let has_url = !self.expectation.url.is_empty();
        let is_own = |run: &&&PluginCall| has_url || member(run).as_ref() == Some(&self.expectation.member);
        if let Some(run) = runs.iter().find(is_own) {
            return Ok(self.wrong(Act::PluginRun(run).to_string()));
        }
        if runs.iter().any(|run| member(run).is_none()) {
            let reason =
                "the consumer ran the plugin with neither a server nor the configuration of a profile";
            return Err(reason.into());
        }
        self.kept_if_alive()
    }

    fn reports(&self, other: &ObjectKey) -> Outcome {
        let Some(mentions) = &self.run.evidence.mentions else {
            return Ok(Answer::NotApplicable);
        };
        let mut about: Vec<&Mention> = mentions.found.iter().collect();
        about.retain(|mention| {
            let is_report = !matches!(mention.place, MentionLocation::Object { .. });
            is_report && mention.names.contains(&self.expectation.profile.name)
        });
        if about.iter().any(|mention| mention.names.contains(&other.name)) {
            return Ok(Answer::Kept);
        }
        self.check_alive()?;
        if !mentions.log {
            return Err("no event names both profiles, and the consumer's log is not configured".into());
        }
        if !about.is_empty() {
            return Err(
                "the consumer reports only this profile, so it is unknown whether it is a warning".into(),
            );
        }
        Ok(self.missing("no event or log line names this profile"))
    }
}
