//! The findings that Events are still to be written about.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use collect::hub_events::{EventError, Told, Written};
use judge::Judgement;
use tokio::{
    select,
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::events::{digest, event};

/// How many findings may wait.
const MOST: usize = 1000;
/// Of how many findings that are gone it is known how often they have appeared.
const MOST_GONE: usize = 10_000;
/// The first and the longest wait of a row of failures.
const FIRST_WAIT: Duration = Duration::from_secs(15);
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);
/// How often an Event is tried that the hub does not take.
const ATTEMPTS: u32 = 5;

/// What became of Events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Events that were written.
    written: u64,
    /// Events that were there already.
    known: u64,
    /// Attempts that failed.
    failed: u64,
    /// Findings of which no Event tells: too many were waiting, they were gone before, or the hub took no such Event.
    dropped: u64,
}

impl Outcomes {
    /// The counts by name.
    pub fn counts(&self) -> [(&'static str, u64); 4] {
        [
            ("written", self.written),
            ("known", self.known),
            ("failed", self.failed),
            ("dropped", self.dropped),
        ]
    }
}

/// Takes the findings of each judgement, and gives the Events to write, each when it is due.
#[derive(Default)]
pub struct Backlog {
    queue: Mutex<Queue>,
    news: Notify,
}

/// An Event to write.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// What it tells.
    pub told: Told,
    /// How often the finding has appeared.
    pub count: u32,
    /// Tells the finding from others.
    pub digest: u64,
    failures: u32,
    due: Instant,
    /// Its place among those that are due at the same time.
    place: u64,
}

impl Backlog {
    /// Takes a judgement. Findings that were there before, and are still, need no further Event. `api_version` gives the
    /// API version of objects of a kind.
    pub fn take(&self, judgement: &Judgement, api_version: impl Fn(&str) -> String) {
        let now = Instant::now();
        let mut queue = self.queue();
        queue.begin();
        for verdict in &judgement.verdicts {
            for finding in &verdict.findings {
                let digest = digest(verdict.rule.id, finding);
                queue.meet(digest, now, || {
                    event(verdict, finding, digest, api_version(&finding.object.kind))
                });
            }
        }
        queue.end(now);
        drop(queue);
        self.news.notify_one();
    }

    /// Waits for an Event that is due.
    pub async fn next(&self) -> Waiting {
        loop {
            let found = self.queue().first();
            match found {
                Some((due, waiting)) if due <= Instant::now() => return waiting,
                Some((due, _)) => select! {
                    () = sleep_until(due) => {}
                    () = self.news.notified() => {}
                },
                None => self.news.notified().await,
            }
        }
    }

    /// Notes what became of an Event.
    pub fn settle(&self, waiting: &Waiting, outcome: &Result<Written, EventError>) {
        self.queue().settle(waiting.digest, outcome, Instant::now());
    }

    /// What became of all so far.
    pub fn outcomes(&self) -> Outcomes {
        self.queue().outcomes
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// How often it has appeared.
    count: u32,
    /// The last judgement that has it.
    seen: u64,
}

#[derive(Debug, Default)]
struct Queue {
    /// The number of the last judgement.
    judgement: u64,
    known: HashMap<u64, Known>,
    waiting: BTreeMap<u64, Waiting>,
    places: u64,
    outcomes: Outcomes,
    /// Until when the hub is left alone, and after how many failures in a row.
    rests_until: Option<Instant>,
    failures: u32,
    /// Until when namespaces are left alone whose Events are forbidden.
    forbidden: BTreeMap<String, Instant>,
}

impl Queue {
    fn begin(&mut self) {
        self.judgement += 1;
    }

    /// The judgement has that finding.
    fn meet(&mut self, digest: u64, now: Instant, told: impl FnOnce() -> Told) {
        let judgement = self.judgement;
        let known = self.known.entry(digest).or_insert(Known { count: 0, seen: 0 });
        let is_there = known.count > 0 && known.seen + 1 >= judgement;
        known.seen = judgement;
        if is_there {
            return;
        }
        known.count += 1;
        let count = known.count;
        if self.waiting.len() >= MOST {
            self.outcomes.dropped += 1;
            return;
        }
        let told = told();
        let until = self.forbidden.get(&told.object.namespace);
        let waiting = Waiting {
            due: until.map_or(now, |until| now.max(*until)),
            told,
            count,
            digest,
            failures: 0,
            place: self.place(),
        };
        self.waiting.insert(digest, waiting);
    }

    /// The judgement has no more findings.
    fn end(&mut self, now: Instant) {
        let (judgement, known) = (self.judgement, &mut self.known);
        let before = self.waiting.len();
        self.waiting
            .retain(|digest, _| known.get(digest).is_some_and(|known| known.seen == judgement));
        self.outcomes.dropped += (before - self.waiting.len()) as u64;
        let gone = |known: &Known| known.seen < judgement;
        if known.values().filter(|known| gone(known)).count() > MOST_GONE {
            known.retain(|_, known| !gone(known));
        }
        self.forbidden.retain(|_, until| *until > now);
    }

    /// The Event to write next, and when.
    fn first(&self) -> Option<(Instant, Waiting)> {
        let waiting = self.waiting.values();
        let first = waiting.min_by_key(|waiting| (waiting.due, waiting.place))?;
        let due = self.rests_until.map_or(first.due, |until| first.due.max(until));
        Some((due, first.clone()))
    }

    fn settle(&mut self, digest: u64, outcome: &Result<Written, EventError>, now: Instant) {
        if !matches!(outcome, Err(EventError::Failed { .. })) {
            self.failures = 0;
            self.rests_until = None;
        }
        match outcome {
            Ok(Written::New) => self.outcomes.written += 1,
            Ok(Written::Known) => self.outcomes.known += 1,
            Err(_) => self.outcomes.failed += 1,
        }
        match outcome {
            Ok(_) => {
                self.waiting.remove(&digest);
            }
            Err(EventError::Failed { wait, .. }) => {
                self.failures += 1;
                self.rests_until = Some(now + backoff(self.failures).max(*wait).min(LONGEST_WAIT));
                // If it is this Event that the hub fails at, others come first.
                let place = self.place();
                if let Some(waiting) = self.waiting.get_mut(&digest) {
                    (waiting.due, waiting.place) = (now, place);
                }
            }
            Err(EventError::Forbidden(_)) => self.leave_alone(digest, now + LONGEST_WAIT),
            Err(EventError::Refused(_)) => {
                let Some(waiting) = self.waiting.get_mut(&digest) else {
                    return;
                };
                waiting.failures += 1;
                waiting.due = now + backoff(waiting.failures);
                if waiting.failures >= ATTEMPTS {
                    self.waiting.remove(&digest);
                    self.outcomes.dropped += 1;
                }
            }
        }
    }

    /// Writes no Events to the namespace of that one until then.
    fn leave_alone(&mut self, digest: u64, until: Instant) {
        let Some(forbidden) = self.waiting.get(&digest) else {
            return;
        };
        let namespace = forbidden.told.object.namespace.clone();
        let concerned = |waiting: &&mut Waiting| waiting.told.object.namespace == namespace;
        for waiting in self.waiting.values_mut().filter(concerned) {
            waiting.due = waiting.due.max(until);
        }
        self.forbidden.insert(namespace, until);
    }

    fn place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }
}

/// How long to wait after so many failures in a row.
fn backoff(failures: u32) -> Duration {
    let growing = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    growing.min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use evidence::ObjectRef;

    use super::*;

    fn told(namespace: &str, name: u64) -> Told {
        Told {
            object: ObjectRef {
                namespace: namespace.to_owned(),
                name: name.to_string(),
                ..ObjectRef::default()
            },
            api_version: "v1".to_owned(),
            digest: String::new(),
            reason: "RuleBroken",
            note: String::new(),
        }
    }

    impl Queue {
        fn judged(&mut self, findings: impl IntoIterator<Item = u64>, now: Instant) {
            self.begin();
            for digest in findings {
                // Even ones in one namespace, odd ones in another.
                let namespace = ["even", "odd"][(digest % 2) as usize];
                self.meet(digest, now, || told(namespace, digest));
            }
            self.end(now);
        }

        /// The Event that is due then, and how often its finding has appeared.
        fn due(&self, now: Instant) -> Option<(u64, u32)> {
            let (due, waiting) = self.first()?;
            (due <= now).then_some((waiting.digest, waiting.count))
        }
    }

    fn failed() -> Result<Written, EventError> {
        Err(EventError::Failed {
            message: "503".to_owned(),
            wait: Duration::ZERO,
        })
    }

    #[test]
    fn a_hub_that_fails_is_asked_again_more_and_more_seldom() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        queue.judged([1, 2], now);
        let mut waits = Vec::new();
        for digest in [1, 2, 1, 2, 1, 2, 1] {
            assert_eq!(queue.due(now), Some((digest, 1)));
            queue.settle(digest, &failed(), now);
            let (due, _) = queue.first().expect("it waits");
            waits.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
        queue.settle(2, &Ok(Written::New), now);
        assert_eq!(queue.due(now), Some((1, 1)), "the hub answers again");
        queue.settle(1, &Ok(Written::Known), now);
        assert!(queue.first().is_none());
        let told = [("written", 1), ("known", 1), ("failed", 7), ("dropped", 0)];
        assert_eq!(queue.outcomes.counts(), told);
    }

    #[test]
    fn one_that_is_refused_keeps_no_other_waiting() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.judged([1, 2], now);
        let refused = || Err(EventError::Refused("422".to_owned()));
        queue.settle(1, &refused(), now);
        assert_eq!(queue.due(now), Some((2, 1)));
        queue.settle(2, &Ok(Written::New), now);
        for _ in 1..ATTEMPTS {
            let (due, waiting) = queue.first().expect("it waits");
            assert_eq!(waiting.digest, 1);
            queue.settle(1, &refused(), due);
        }
        assert!(queue.first().is_none(), "it is given up");
        assert_eq!(queue.outcomes.dropped, 1);
    }

    #[test]
    fn what_is_forbidden_in_one_namespace_is_written_to_others() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.judged([1, 2, 3], now);
        queue.settle(1, &Err(EventError::Forbidden("403".to_owned())), now);
        queue.judged([1, 2, 3, 5], now);
        assert_eq!(queue.due(now), Some((2, 1)));
        queue.settle(2, &Ok(Written::New), now);
        assert_eq!(queue.due(now), None);
        assert_eq!(queue.due(now + LONGEST_WAIT), Some((1, 1)));
    }

    #[test]
    fn a_finding_is_told_once_while_it_is_there() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.judged([1, 1], now);
        queue.settle(1, &Ok(Written::New), now);
        queue.judged([1], now);
        assert_eq!(queue.due(now), None);
        queue.judged([], now);
        queue.judged([1], now);
        assert_eq!(queue.due(now), Some((1, 2)));
        // It is gone before it could be told.
        queue.judged([], now);
        assert_eq!(queue.due(now), None);
        assert_eq!(queue.outcomes.dropped, 1);
    }

    #[test]
    fn no_more_wait_than_there_is_room_for() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let all = 0..MOST as u64 + 5;
        queue.judged(all.clone(), now);
        queue.judged(all, now);
        assert_eq!((queue.waiting.len(), queue.outcomes.dropped), (MOST, 5));
        for churn in 0..30 {
            queue.judged(churn * 1000..churn * 1000 + 1000, now);
        }
        assert!(queue.known.len() <= MOST_GONE + 1000, "{}", queue.known.len());
    }
}
