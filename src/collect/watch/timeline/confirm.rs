//! The streams of a watch: each goes from its opening until the hub, or the network, ends it.
//!
//! Confirms a watch, at the end of the window or now and then: a list must show nothing that the watch has not brought.
//! Some proxies accept a watch and deliver nothing. Without a list, such a silence looks like a quiet manager.

use std::{fmt::Display, sync::Arc, time::Duration};

use evidence::{ObjectRef, Origin, Tracked};
use futures::future::join;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    select,
    time::{sleep, timeout},
};

use super::{LAST_WORD, QUIET, Shared, Watch, gap};
use crate::{
    connect::{RequestFailure, TimedClient, retry},
    watch::{
        lines::WatchLines,
        list::{TRACKED, check_newer, list_with, missed_reason},
        record::HistoryRecord,
    },
};

/// How long the watch may take to bring what the list shows. A shorter delay is not an interruption either.
const CATCH_UP: Duration = Duration::from_secs(10);
/// Interval of comparing what the watch has brought.
const TICK: Duration = Duration::from_millis(50);
/// How often the list is tried.
const ATTEMPTS: u32 = 3;

/// What a list shows, and the watch has not brought yet.
#[derive(Default)]
struct Unseen {
    versions: Vec<ObjectRef>,
    /// Keys of profiles that are gone.
    deletions: Vec<Arc<str>>,
}

impl Unseen {
    /// Drops what the watch has brought meanwhile. Returns whether nothing is left.
    fn settle(&mut self, record: &HistoryRecord<impl Tracked>) -> bool {
        self.versions.retain(|object| !record.has_version(object));
        self.deletions.retain(|key| !record.is_deleted(key));
        self.versions.is_empty() && self.deletions.is_empty()
    }

    /// The last time at which the record was right about all of them; none if it never had one of them.
    fn known_until(&self, record: &HistoryRecord<impl Tracked>) -> Option<Timestamp> {
        let versions = self.versions.iter().map(|object| record.last_seen(object));
        let deletions = self.deletions.iter().map(|key| {
            let versions = &record.history(key)?.versions;
            versions.last()?.at
        });
        // None is the least: the record knows nothing of that object.
        versions.chain(deletions).min().flatten()
    }

    /// An example, for people.
    fn example(&self, record: &HistoryRecord<impl Tracked>) -> String {
        let deleted = || {
            Some(
                record
                    .history(self.deletions.first()?)?
                    .last()
                    .object_ref()
                    .to_string(),
            )
        };
        let changed = self.versions.first().map(ToString::to_string);
        changed.or_else(deleted).unwrap_or_default()
    }
}

fn not_compared(why: &dyn Display) -> String {
    format!("the list that compares the watch with the hub failed: {why}")
}

impl<T: Tracked> Watch<T> {
    /// Compares a list with what the watch has brought, which gets a moment to catch up. If it does not, the record takes
    /// a new list, and a gap. Returns whether the record is up to date.
    pub async fn confirm(&mut self) -> bool {
        let ended = self.clock.now();
        if let (Some(late), Some(stream)) = (self.late, &self.stream)
            && stream.has_caught_up(ended)
        {
            self.settle(late);
        }
        if self.is_in_doubt(ended) {
            // A change that has come at this very moment is not lost with the connection.
            let _ = timeout(TICK, self.follow()).await;
        }
        let doubtful = self.is_in_doubt(ended);
        if doubtful {
            let quiet = ended.duration_since(self.until);
            // The connection may be dead. A new watch brings immediately what was missed.
            self.stream = None;
            self.outage = Some(format!("nothing came for {} s", quiet.as_secs()));
        }
        // This is not yet a failure of the hub.
        let attempts = if self.outage.is_some() && !doubtful {
            1
        } else {
            ATTEMPTS
        };
        let (client, path) = (self.client.clone(), self.path.clone());
        let (record, namespace) = (Arc::clone(&self.record), self.namespace.clone());
        let (version, restores) = (self.resource_version.clone(), self.restores);
        let comparing = retry(attempts, RequestFailure::may_pass, || {
            compare(&client, &path, &record, namespace.as_deref(), &version)
        });
        // A long list must not keep the watch waiting: hubs end watches that lag.
        let compared = select! {
            biased;
            compared = comparing => compared,
            never = self.follow() => match never {},
        };
        let mut unseen = match compared {
            Ok(unseen) => unseen,
            // The watch has noticed it meanwhile, and has listed all.
            Err(failure) if failure.is_restored() && self.restores > restores => return true,
            Err(failure) if failure.is_restored() => return self.take_new_history(&failure).await,
            Err(failure) => {
                self.doubt(&failure);
                return false;
            }
        };
        let settled = async {
            while !unseen.settle(&record.lock()) {
                sleep(TICK).await;
            }
        };
        let listened = async {
            if doubtful {
                sleep(LAST_WORD).await;
            }
        };
        let settling = async {
            select! {
                biased;
                _ = join(settled, listened) => {}
                never = self.follow() => match never {},
            }
        };
        // `timeout` polls the watch, which may never rest, before its own timer.
        let settled = timeout(CATCH_UP, settling).await.is_ok();
        let now = self.clock.now();
        let is_current = |stream: &Stream| stream.has_caught_up(now);
        if settled && self.late.is_none() && self.stream.as_ref().is_some_and(is_current) {
            // The list began then. Hubs send a watch nothing while nothing changes, some not even bookmarks.
            self.hear(self.until.max(ended));
        }
        settled || self.take_list(&unseen).await
    }

    /// Whether nothing came for so long that the connection may be dead.
    fn is_in_doubt(&self, now: Timestamp) -> bool {
        self.outage.is_none() && now.duration_since(self.until) > QUIET
    }

    /// Notes that no list has confirmed the watch.
    pub fn doubt(&mut self, why: &dyn Display) {
        self.outage.get_or_insert_with(|| not_compared(why));
    }

    /// Notes that the run has waited for that list in vain since then: what happened meanwhile is unknown.
    pub fn lose_since(&self, ended: Timestamp, why: &dyn Display) {
        let gap = gap::<T>(ended, self.clock.now(), not_compared(why));
        self.record.lock().gaps.push(gap);
    }

    /// The watch has missed something: takes a new list into the record, and notes the gap.
    async fn take_list(&mut self, unseen: &Unseen) -> bool {
        let (from, example) = {
            let record = self.record.lock();
            let known_until = unseen.known_until(&record).unwrap_or(self.began);
            let from = match (&self.outage, self.late) {
                // Until an interruption, the watch was right.
                (Some(_), None) => self.until,
                // What came late is not known for as long as it seems.
                (_, Some(_)) => self.until.min(known_until),
                (None, None) => known_until,
            };
            (from, unseen.example(&record))
        };
        let result = self.list_patiently().await;
        let now = self.clock.now();
        self.late = None;
        let mut reason = format!(
            "the watch{} missed changes that a later list shows, for example of {example}",
            self.place()
        );
        if let Some(cause) = self.outage.take() {
            reason += &format!(" ({cause})");
        }
        if let Err(failure) = &result {
            reason += &format!("; a second list failed: {failure}");
        }
        self.record.lock().gaps.push(gap::<T>(from, now, reason));
        result.is_ok()
    }

    /// The hub was restored, and the watch does not know it: takes a new list into the record, and notes the gap.
    async fn take_new_history(&mut self, restored: &RequestFailure) -> bool {
        self.is_restored = true;
        let result = self.list_patiently().await;
        self.late = None;
        self.outage = None;
        let reason = format!("the watch{} missed changes: {restored}", self.place());
        let reason = missed_reason(reason, restored);
        self.record
            .lock()
            .gaps
            .push(gap::<T>(self.until, self.clock.now(), reason));
        result.is_ok()
    }

    async fn list_patiently(&mut self) -> Result<(), RequestFailure> {
        let mut failures = 0;
        loop {
            match self.list(Origin::Relisted).await {
                Err(failure) if failure.may_pass() && failures + 1 < ATTEMPTS => {
                    failures += 1;
                    sleep(failure.wait(failures)).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// Lists the profiles at `path`, and returns what the record lacks of them. It fails where the hub has a new history since it
/// has given out the resourceVersion `version`.
async fn compare<T: Tracked>(
    client: &TimedClient,
    path: &str,
    record: &Shared<T>,
    namespace: Option<&str>,
    version: &str,
) -> Result<Unseen, RequestFailure> {
    let pass = record.lock().begin(Origin::Relisted);
    let mut versions = Vec::new();
    let newest = list_with(client, path, TRACKED, |json| {
        versions.extend(record.lock().compare(json, pass))
    })
    .await?;
    check_newer(version, &newest)?;
    Ok(Unseen {
        versions,
        deletions: record.lock().unmet(pass, namespace),
    })
}

/// A change that arrives this soon after an interruption may have happened during it.
const CATCHING_UP: SignedDuration = SignedDuration::from_secs(1);
/// A stream that lasts so long is progress, whatever it brings.
const LASTING: SignedDuration = SignedDuration::from_secs(10);
/// A stream that lasts so long shows that the hub keeps its history for a while.
const WITH_HISTORY: SignedDuration = SignedDuration::from_secs(30);
/// A stream that lasts so long may be followed by the next one immediately.
const OLD: SignedDuration = SignedDuration::from_secs(60);

/// A stream of events.
pub(super) struct Stream {
    pub lines: WatchLines,
    opened: Timestamp,
    /// Whether the hub has sent everything until some moment of this stream.
    pub is_current: bool,
    /// Whether it has brought what the record lacked.
    pub has_new_versions: bool,
    /// Whether it has brought nothing at all, not even a bookmark.
    pub is_empty: bool,
}

/// What a stream was that has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    lasted: SignedDuration,
    has_new_versions: bool,
    is_empty: bool,
}

impl Stream {
    /// The stream of a watch that goes on from a resourceVersion.
    pub fn resumed(lines: WatchLines, now: Timestamp) -> Self {
        Self {
            lines,
            opened: now,
            is_current: false,
            has_new_versions: false,
            is_empty: true,
        }
    }

    /// The stream of a list that is whole by now.
    pub fn of_list(lines: WatchLines, now: Timestamp) -> Self {
        Self {
            is_current: true,
            is_empty: false,
            ..Self::resumed(lines, now)
        }
    }

    /// Whether what comes now happens now.
    pub fn has_caught_up(&self, now: Timestamp) -> bool {
        self.is_current || now.duration_since(self.opened) >= CATCHING_UP
    }

    /// Ends it.
    pub fn end(self, now: Timestamp) -> Ended {
        Ended {
            lasted: now.duration_since(self.opened),
            has_new_versions: self.has_new_versions,
            is_empty: self.is_empty,
        }
    }
}

impl Ended {
    /// Whether the watch has progressed by it.
    pub fn has_progressed(&self) -> bool {
        self.has_new_versions || self.lasted >= LASTING
    }

    /// Whether the hub keeps its history for a while.
    pub fn has_kept_history(&self) -> bool {
        self.lasted >= WITH_HISTORY
    }

    /// Whether it ended as watches do on every hub.
    pub fn is_old(&self) -> bool {
        self.lasted >= OLD
    }

    /// Whether it ended as soon as it began, and brought nothing.
    pub fn is_empty(&self) -> bool {
        self.is_empty && self.lasted < CATCHING_UP
    }
}
