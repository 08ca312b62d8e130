//! After the window: the run keeps watching for violations that were open when it ended, until each is fixed or older than its
//! grace. The caller says which are open: see [`Progress::open`](crate::progress::Progress::open).

use std::{
    collections::{BTreeSet, HashSet},
    future::pending,
    time::Duration,
};

use evidence::{Awaited, Later, ObjectKey, Settled, api::PlacementDecision};
use jiff::Timestamp;
use tokio::{select, time::Instant};

use super::{Run, TICK, window::AllWatches};
use crate::watch::timeline;

/// How often the caller is asked while nothing changes, as violations grow older.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// Asking takes at most one part in so many of the time.
const SHARE: u32 = 20;

pub(super) struct Open {
    watches: AllWatches,
    seen: ObservedChanges,
}

/// What was seen since the window ended.
struct ObservedChanges {
    window_end: Timestamp,
    profiles: timeline::Shared,
    slices: timeline::Shared<PlacementDecision>,
    awaited: Awaited,
    /// The profiles of these that did not exist when the window ended.
    missing: BTreeSet<ObjectKey>,
}

/// Records every change for as long as it is polled.
pub(super) async fn follow(open: Option<&mut Open>) {
    match open {
        Some(open) => open.watches.follow().await,
        None => pending().await,
    }
}

impl ObservedChanges {
    /// What was seen of the objects that the run waits for.
    fn later(&self, now: Timestamp) -> Later {
        let awaited = self.awaited.profiles.iter();
        let awaited: HashSet<(&str, &str)> = awaited.map(|key| (&*key.namespace, &*key.name)).collect();
        let is_awaited = |namespace: &str, name: &str| awaited.contains(&(namespace, name));
        let (profiles, mut gaps) = self.profiles.lock().so_far(is_awaited, now);
        // The violation of a slice may be fixed by another slice of its decision.
        let namespaces: HashSet<&str> = self.awaited.slices.iter().map(|key| &*key.namespace).collect();
        let (slices, of_slices) = self
            .slices
            .lock()
            .so_far(|namespace, _| namespaces.contains(namespace), now);
        gaps.extend(of_slices);
        for gap in &mut gaps {
            // The lists at the end of the window showed what there was.
            gap.from = gap.from.map(|from| from.max(self.window_end));
        }
        let mut later = Later {
            profiles,
            slices,
            missing: self.missing.clone(),
            gaps: gaps.into(),
        };
        later.sort();
        later
    }

    fn new_versions(&self) -> u64 {
        self.profiles.lock().new_versions + self.slices.lock().new_versions
    }

    /// How long the run has watched on by now, for the objects with open violations.
    fn settled(&self, until: Timestamp, open: &Awaited) -> Settled {
        Settled {
            until,
            profiles: open.profiles.intersection(&self.awaited.profiles).count(),
            slices: open.slices.intersection(&self.awaited.slices).count(),
            cut_short: false,
        }
    }
}

impl Run<'_> {
    /// What is open now that the window has ended; none if nothing is, or if the run does not wait.
    pub(super) fn open(&mut self) -> Option<Open> {
        let watches = self.left.take()?;
        let AllWatches { profiles, slices } = &watches;
        let window_end = self.evidence.header.window?.until;
        if self.plan.settle.is_zero() || self.is_stale || self.stopped() {
            return None;
        }
        let mut awaited = self.context.progress.open(&self.evidence);
        // What is not watched cannot be waited for.
        awaited
            .profiles
            .retain(|profile| profiles.hold(&profile.namespace));
        awaited.slices.retain(|slice| slices.hold(&slice.namespace));
        if awaited.is_empty() {
            return None;
        }
        let existing: HashSet<ObjectKey> = self.evidence.everyone().map(ObjectKey::of).collect();
        let missing = awaited.profiles.iter().filter(|key| !existing.contains(key));
        let missing = missing.cloned().collect();
        let unreadable = || self.evidence.unreadable.iter();
        let of_profiles = self.evidence.profiles.iter();
        profiles
            .record
            .lock()
            .go_on(of_profiles, unreadable(), window_end);
        let of_slices = self.evidence.slices.iter();
        slices.record.lock().go_on(of_slices, unreadable(), window_end);
        let seen = ObservedChanges {
            window_end,
            profiles: profiles.record.clone(),
            slices: slices.record.clone(),
            awaited,
            missing,
        };
        Some(Open { watches, seen })
    }

    /// Watches until nothing is open, or for as long as the plan says.
    pub(super) async fn settle(&mut self, mut open: Open) {
        self.context
            .progress
            .phase("waiting for open violations to settle");
        let Open { watches, seen } = &mut open;
        select! {
            biased;
            () = self.until_settled(seen) => {}
            // A list that is under way must not begin again each second.
            () = watches.follow() => {}
        }
        let cut_short = self.stopped();
        self.confirm_settled(&mut open.watches).await;
        let now = self.context.clock.now();
        let settled = Settled {
            cut_short,
            ..open.seen.settled(now, &open.seen.awaited)
        };
        self.add_later(&open.seen, settled);
    }

    /// Waits until nothing is open, for as long as the plan says, or until the caller ends the run.
    async fn until_settled(&mut self, seen: &ObservedChanges) {
        let mut since = Instant::now();
        let (mut count, mut pause) = (seen.new_versions(), Duration::ZERO);
        let mut text = seen.settled(seen.window_end, &seen.awaited).awaited();
        while !self.stopped() {
            let now = self.context.clock.now();
            let elapsed = Duration::try_from(now.duration_since(seen.window_end)).unwrap_or_default();
            self.context.progress.settling(elapsed, self.plan.settle, &text);
            let is_due = since.elapsed() >= ASK_AGAIN || seen.new_versions() != count;
            if is_due && since.elapsed() >= pause {
                (since, count) = (Instant::now(), seen.new_versions());
                self.add_later(seen, seen.settled(now, &seen.awaited));
                let open = self.context.progress.open(&self.evidence);
                text = seen.settled(now, &open).awaited();
                pause = since.elapsed() * SHARE;
            }
            if text.is_empty() || elapsed >= self.plan.settle {
                break;
            }
            self.context.pause(TICK).await;
        }
    }

    /// Compares lists with what the watches have brought since the window ended. Without that, it is unknown whether they
    /// were right.
    async fn confirm_settled(&mut self, watches: &mut AllWatches) {
        let ended = self.context.clock.now();
        let AllWatches { profiles, slices } = watches;
        let confirming = async {
            // Both, whatever the first one says.
            let is_confirmed = profiles.confirm().await;
            slices.confirm().await && is_confirmed
        };
        let confirmed = self.patience.within(self.patience.list, confirming).await;
        if confirmed != Ok(true) {
            let now = self.context.clock.now();
            profiles.doubt_later(now);
            slices.doubt_later(now);
        }
        profiles.finish(ended);
        slices.finish(ended);
    }

    fn add_later(&mut self, seen: &ObservedChanges, settled: Settled) {
        self.evidence.later = seen.later(settled.until);
        self.evidence.header.settled = Some(settled);
    }
}
