//! The time in which hooks had stopped the consumer or the run had closed its way to the hub, and what it keeps over that.

use evidence::{DriverAction, HookCall, Output, OutputSnapshot};

use super::Play;
use crate::rules::consumer::support::time::{Edge, Micros};

/// A time in which the consumer was stopped.
pub(crate) struct Pause<'e> {
    /// The call that stopped it.
    pub(crate) stop: &'e HookCall,
    /// The call that started it again.
    pub(crate) start: Option<&'e HookCall>,
}

impl Pause<'_> {
    /// From when on it may not have run.
    pub(crate) fn begins(&self) -> Micros {
        self.stop.from.as_microsecond()
    }

    /// From when on it did not run, if the hook did what it should.
    pub(crate) fn stopped(&self) -> Micros {
        self.stop.until.as_microsecond()
    }

    /// Until when it did not run.
    pub(crate) fn started(&self) -> Micros {
        self.start
            .map_or(Micros::MAX, |start| start.from.as_microsecond())
    }

    /// Until when it may not have run.
    pub(crate) fn ends(&self) -> Micros {
        self.start
            .map_or(Micros::MAX, |start| start.until.as_microsecond())
    }

    /// Why it is not known that the consumer was stopped and runs again, if so.
    pub(crate) fn failure(&self) -> Option<(DriverAction, &str)> {
        let calls = [Some(self.stop), self.start];
        let mut calls = calls.into_iter().flatten();
        calls.find_map(|call| Some((call.action, call.failure.as_deref()?)))
    }
}

impl<'e> Play<'e> {
    /// Whenever hooks stopped the consumer.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = Pause<'e>> {
        let calls = &self.testbed.hook_calls;
        let stops = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.action == DriverAction::Stop);
        stops.map(|(place, stop)| Pause {
            stop,
            start: calls[place..]
                .iter()
                .find(|call| call.action == DriverAction::Start),
        })
    }

    /// The outputs that name a server, each with the time at which it was read.
    pub(crate) fn outputs_naming(&self, url: &str) -> impl Iterator<Item = (&'e OutputSnapshot, &'e Output)> {
        let snapshots = self.testbed.outputs.iter();
        snapshots.flat_map(move |snapshot| {
            let outputs = snapshot.outputs.iter();
            let named = outputs.filter(move |output| output.servers.contains(url));
            named.map(move |output| (snapshot, output))
        })
    }

    /// Whenever the consumer may not have learnt what profiles say: it was stopped.
    pub(crate) fn times_away(&self) -> impl Iterator<Item = (Micros, Micros)> {
        self.pauses().map(|pause| (pause.begins(), pause.ends()))
    }

    /// Whether the consumer may not have learnt of a change: what it makes of that is the subject of other rules.
    pub(crate) fn may_have_missed(&self, change: Edge) -> bool {
        let mut away = self.times_away();
        away.any(|(begins, ends)| begins <= change.latest && change.earliest <= ends)
    }
}
