//! The watch: a list, then the changes since, through every interruption.
//!
//! The loop is our own: a client library's retries hide what rules must know, which is what was missed and when.
//!
//! A hub that ends each watch early is asked again more and more seldom, until there is progress (see
//! [`backoff`](super::backoff)). What it sends late for that reason is recorded late, and leaves a gap where rules would
//! notice.

mod confirm;

use std::{convert::Infallible, mem, sync::Arc, time::Duration};

use bytes::BytesMut;
use evidence::{Gap, Origin, Reason, Tracked, Window, api::ClusterProfile};
use http::{Method, Response};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use self::confirm::{Ended, Stream};
use super::{
    backoff::Backoff,
    lines::{WatchEvent, WatchLines},
    list::{NO_WHOLE_LIST, TRACKED, check_history, list_with, missed_reason},
    record::{HistoryRecord, Pass},
};
use crate::{
    clock::Clock,
    connect::{
        ATTEMPTS, AnswerBody, LONGEST_WAIT, RequestFailure, TimedClient, request, segment, send, within,
    },
};

/// The `timeoutSeconds` of a watch: the hub ends it then, which reveals dead connections.
pub(crate) const LIFETIME: u64 = 240;
/// How long a watch may be silent: longer than its lifetime.
pub(crate) const SILENCE: Duration = Duration::from_secs(LIFETIME + 30);
/// The longest interruption that leaves no gap: no rule mentions a delay as short as this.
pub(crate) const BRIEF: SignedDuration = SignedDuration::from_secs(10);
/// How long a silence may be before the connection may be dead: bookmarks come every minute.
const QUIET: SignedDuration = SignedDuration::from_secs(75);
/// How long a hub that ends its watches is not asked again whether it was restored: no restore takes less, and each reopened
/// watch would cost two requests.
const CHECKED_AGAIN: Duration = Duration::from_secs(10);
/// How long a new watch is read at the end, after a long silence.
const LAST_WORD: Duration = Duration::from_secs(2);
/// Why a watch is interrupted whose hub has ended it in good order.
const ENDED: &str = "the hub ended the watch";
/// The first wait of a row before a watch is opened again, or a list is read again.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after a watch that the hub ended in good order: shorter than what leaves a gap.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// The longest wait between lists for a hub that keeps no history: each may be large.
const LONGEST_BETWEEN_LISTS: Duration = Duration::from_secs(60);

/// The record, shared by the watches of several namespaces and the threads that read lists.
pub(crate) type Shared<T = ClusterProfile> = Arc<Mutex<HistoryRecord<T>>>;

/// The watch of the hub's profiles or slices, or of one namespace's.
pub(crate) struct Watch<T: Tracked = ClusterProfile> {
    client: TimedClient,
    clock: Clock,
    record: Shared<T>,
    /// The path of the collection.
    path: String,
    namespace: Option<String>,
    /// Whether the hub may support streaming lists.
    streams: bool,
    resource_version: String,
    stream: Option<Stream>,
    /// Whether the resourceVersion is that of a list just read.
    is_just_listed: bool,
    /// When it was last checked that the hub has the history that is known.
    checked: Option<Instant>,
    /// Whether the hub has a new history, of which no list was read yet.
    is_restored: bool,
    /// How many new histories it has listed.
    restores: usize,
    /// Its number in the record.
    number: usize,
    /// When it began.
    began: Timestamp,
    /// Until when every change is known.
    until: Timestamp,
    /// When the last change came that may have happened after [`Watch::until`] and long before.
    late: Option<Timestamp>,
    /// Why the watch is interrupted now.
    outage: Option<String>,
    /// Whether it waits for its turn to be opened again.
    is_paused: bool,
    /// Why it was interrupted last.
    cause: String,
    reopening: Backoff,
    /// The delays of lists that replace lost history. The first one is not delayed.
    relisting: Backoff,
}

impl<T: Tracked> Watch<T> {
    /// A watch of the collection at `path`, which is that of `namespace`, or of the whole hub. Without `streams` it
    /// begins with a plain list.
    pub fn new(
        client: TimedClient,
        clock: Clock,
        record: Shared<T>,
        path: String,
        namespace: Option<String>,
        streams: bool,
    ) -> Self {
        let mut seed = client.seed;
        for byte in path.bytes() {
            seed = seed.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
        let number = record.lock().add_watch(clock.now());
        Self {
            client,
            record,
            number,
            path,
            namespace,
            streams,
            resource_version: String::new(),
            stream: None,
            is_just_listed: false,
            checked: None,
            is_restored: false,
            restores: 0,
            began: clock.now(),
            until: clock.now(),
            late: None,
            outage: None,
            is_paused: false,
            cause: String::new(),
            reopening: Backoff::new(FIRST_WAIT, LONGEST_WAIT, seed),
            relisting: Backoff::new(FIRST_WAIT, LONGEST_BETWEEN_LISTS, seed).with_free(1),
            clock,
        }
    }

    /// The namespace that it is confined to.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Lists the profiles for the first time.
    pub async fn start(&mut self) -> Result<(), RequestFailure> {
        let mut failures = 0;
        while let Err(failure) = self.read_list(Origin::Listed).await {
            failures += 1;
            if !failure.may_pass() || failures == ATTEMPTS {
                return Err(failure);
            }
            sleep(failure.wait(failures)).await;
        }
        Ok(())
    }

    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) -> Infallible {
        loop {
            match self.listen().await {
                Ok(ended) => self.pause(&ended).await,
                Err(failure) => {
                    self.close(false);
                    self.outage = Some(failure.to_string());
                    if failure.code() == 410 || failure.is_restored() {
                        self.relist(&failure).await;
                    } else {
                        let wait = self.reopening.next().max(failure.asked_wait());
                        sleep(wait.min(LONGEST_WAIT)).await;
                        self.client.cost.turn().await;
                    }
                }
            }
        }
    }

    /// Until when every change is known.
    pub fn known_until(&self) -> Timestamp {
        self.until
    }

    /// Notes that the watch is over. An interruption that lasts until now leaves a gap.
    pub fn finish(&mut self, now: Timestamp) {
        if self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.has_caught_up(now))
        {
            self.settle(now);
        }
        let paused = self.is_paused.then_some(ENDED);
        let (until, reason) = match (self.late, self.outage.as_deref().or(paused)) {
            (Some(late), _) => (late.max(now), self.lateness()),
            (None, Some(cause)) => {
                let place = self.place();
                let reason = format!("the watch{place} was lost and did not come back: {cause}");
                (now, reason)
            }
            (None, None) => return,
        };
        if until.duration_since(self.until) > BRIEF {
            self.record.lock().gaps.push(gap::<T>(self.until, until, reason));
        }
    }

    /// Records events until the hub ends the watch, as it does every few minutes.
    async fn listen(&mut self) -> Result<Ended, RequestFailure> {
        if self.stream.is_none() {
            self.resume().await?;
        }
        loop {
            let stream = self.stream.as_mut().expect("was just opened");
            match stream.lines.next(SILENCE).await {
                Ok(Some(line)) => self.take(&line)?,
                Ok(None) => return Ok(self.close(true)),
                Err(failure) => {
                    // A connection that breaks has delivered everything until then; a silent one may not have.
                    self.close(!failure.is_silence());
                    return Err(failure);
                }
            }
        }
    }

    /// Notes the end of the stream. If it `told_all`, every change is known until now, unless the hub was still catching
    /// up.
    fn close(&mut self, told_all: bool) -> Ended {
        let now = self.clock.now();
        let Some(stream) = self.stream.take() else {
            return Ended::default();
        };
        if told_all && stream.has_caught_up(now) {
            self.settle(now);
        }
        let ended = stream.end(now);
        if ended.has_progressed() {
            self.reopening.reset();
        }
        if ended.has_kept_history() {
            self.relisting.reset();
        }
        ended
    }

    /// Spares a hub that has ended the watch, unless it was old.
    async fn pause(&mut self, ended: &Ended) {
        if ended.is_empty() {
            self.outage = Some("the hub ended the watch as soon as it began".to_owned());
        }
        if ended.is_old() {
            return;
        }
        self.is_paused = true;
        if !ended.has_progressed() {
            sleep(self.reopening.next().min(LONGEST_PAUSE)).await;
        }
        self.client.cost.turn().await;
    }

    /// The watch has caught up: every change is known until now. What came late leaves a gap where a rule may notice.
    fn settle(&mut self, now: Timestamp) {
        if let Some(late) = self.late.take()
            && late.duration_since(self.until) > BRIEF
        {
            let gap = gap::<T>(self.until, late, self.lateness());
            self.record.lock().gaps.push(gap);
        }
        self.hear(now);
    }

    fn lateness(&self) -> String {
        let (place, cause) = (self.place(), &self.cause);
        format!("the watch{place} was interrupted: changes during that time were seen late ({cause})")
    }

    /// Every change is known until now.
    fn hear(&mut self, now: Timestamp) {
        self.until = now;
        self.record.lock().hear(self.number, now);
    }

    /// Opens the watch again from the last known resourceVersion.
    async fn resume(&mut self) -> Result<(), RequestFailure> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={LIFETIME}",
            self.path,
            segment(&self.resource_version)
        );
        let is_checked = mem::take(&mut self.is_just_listed);
        let response = self.open(&path).await?;
        let is_due = self.checked.is_none_or(|at| at.elapsed() >= CHECKED_AGAIN);
        if !is_checked && is_due {
            // Not before: a restore ends all watches, this one too.
            check_history(&self.client, &self.path, &self.resource_version).await?;
            self.checked = Some(Instant::now());
        }
        self.stream = Some(Stream::resumed(
            WatchLines::new(response, self.client.secrets.clone()),
            self.clock.now(),
        ));
        self.is_paused = false;
        self.cause = self.outage.take().unwrap_or_else(|| ENDED.to_owned());
        Ok(())
    }

    /// Opens a watch.
    async fn open(&self, path: &str) -> Result<Response<AnswerBody>, RequestFailure> {
        send(&self.client, request(Method::GET, path)?).await
    }

    /// Records one event.
    fn take(&mut self, line: &BytesMut) -> Result<(), RequestFailure> {
        let event = WatchEvent::read(line)?;
        let now = self.clock.now();
        let stream = self.stream.as_mut().expect("the line is from it");
        stream.is_empty = false;
        let mut record = self.record.lock();
        let count = record.new_versions;
        let (resource_version, is_told) = match event {
            WatchEvent::Added(json) => (record.changed(json, Origin::Created, now), false),
            // If the profile is new to the record, its earlier versions were missed.
            WatchEvent::Modified(json) => (record.changed(json, Origin::Relisted, now), false),
            WatchEvent::Deleted(json) => (record.deleted(json, now), false),
            WatchEvent::Bookmark { resource_version, .. } => (resource_version, true),
        };
        stream.has_new_versions |= record.new_versions > count;
        drop(record);
        stream.is_current |= is_told;
        if stream.has_caught_up(now) {
            self.settle(now);
        } else {
            self.late = Some(now);
        }
        if !resource_version.is_empty() {
            self.resource_version = resource_version;
        }
        Ok(())
    }

    /// The hub no longer has the changes since the last known resourceVersion, or a new history without them: only a new list
    /// can show their outcome.
    async fn relist(&mut self, gone: &RequestFailure) {
        self.is_restored |= gone.is_restored();
        sleep(self.relisting.next()).await;
        self.client.cost.turn().await;
        while let Err(failure) = self.read_list(Origin::Relisted).await {
            self.stream = None;
            self.outage = Some(failure.to_string());
            let wait = self.relisting.next().max(failure.asked_wait());
            sleep(wait.min(LONGEST_BETWEEN_LISTS)).await;
            self.client.cost.turn().await;
        }
        self.outage = None;
        self.late = None;
        let now = self.clock.now();
        let reason = format!(
            "the hub no longer had all changes{}: those in between were missed ({})",
            self.place(),
            gone
        );
        let reason = missed_reason(reason, gone);
        self.record.lock().gaps.push(gap::<T>(self.until, now, reason));
        self.hear(now);
    }

    /// Lists the profiles, after which the watch can go on. Of the time that a list may take, a streaming one has half.
    async fn read_list(&mut self, origin: Origin) -> Result<(), RequestFailure> {
        if self.streams {
            let limit = self.client.list_timeout / 2;
            match within(limit, NO_WHOLE_LIST, self.stream(origin)).await {
                // Older hubs refuse the options; some accept them and never end the list, or break it off. Who cannot be
                // watched may be listed.
                Err(failure) if matches!(failure.code(), 0 | 400 | 410 | 422 | 500..) => {
                    self.streams = false;
                }
                outcome => return outcome,
            }
        }
        self.list(origin).await
    }

    /// Lists the profiles by a streaming list, which goes on as the watch.
    async fn stream(&mut self, origin: Origin) -> Result<(), RequestFailure> {
        let path = format!(
            "{}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\
             &timeoutSeconds={LIFETIME}",
            self.path
        );
        let response = self.open(&path).await?;
        let mut lines = WatchLines::new(response, self.client.secrets.clone());
        let pass = self.begin(origin);
        let mut bytes = 0;
        let early = || RequestFailure::broken("the hub ended the watch before the list was complete");
        loop {
            let line = lines.next(self.client.list_timeout).await?.ok_or_else(early)?;
            bytes += line.len() as u64;
            self.client.check_list(bytes)?;
            let event = WatchEvent::read(&line)?;
            let now = self.clock.now();
            let mut record = self.record.lock();
            match event {
                WatchEvent::Added(json) | WatchEvent::Modified(json) => {
                    record.met(json, pass, now);
                }
                WatchEvent::Deleted(json) => {
                    record.deleted(json, now);
                }
                WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end: true,
                } => {
                    if resource_version.is_empty() {
                        return Err(RequestFailure::broken("the hub's list has no resourceVersion"));
                    }
                    record.end(pass, self.namespace.as_deref(), now);
                    drop(record);
                    self.go_on_from(resource_version);
                    self.stream = Some(Stream::of_list(lines, now));
                    if origin == Origin::Listed {
                        self.hear(now);
                    }
                    return Ok(());
                }
                WatchEvent::Bookmark { .. } => {}
            }
        }
    }

    /// Lists the profiles by a plain list, from whose resourceVersion a watch can begin.
    async fn list(&mut self, origin: Origin) -> Result<(), RequestFailure> {
        let pass = self.begin(origin);
        let each = |json: &[u8]| drop(self.record.lock().met(json, pass, self.clock.now()));
        let resource_version = list_with(&self.client, &self.path, TRACKED, each).await?;
        if resource_version.is_empty() {
            return Err(RequestFailure::broken("the hub's list has no resourceVersion"));
        }
        let now = self.clock.now();
        self.record.lock().end(pass, self.namespace.as_deref(), now);
        self.go_on_from(resource_version);
        self.is_just_listed = true;
        self.stream = None;
        self.is_paused = false;
        if origin == Origin::Listed {
            self.hear(now);
        }
        Ok(())
    }

    /// Begins a pass over what the hub has.
    fn begin(&self, origin: Origin) -> Pass {
        let mut pass = self.record.lock().begin(origin);
        pass.is_of_new_history = self.is_restored;
        pass
    }

    /// A whole list has that resourceVersion.
    fn go_on_from(&mut self, resource_version: String) {
        self.resource_version = resource_version;
        self.restores += usize::from(mem::take(&mut self.is_restored));
    }

    fn place(&self) -> String {
        let namespace = self.namespace.as_deref();
        namespace
            .map(|name| format!(" of namespace {name}"))
            .unwrap_or_default()
    }
}

pub(crate) fn gap<T: Tracked>(from: Timestamp, until: Timestamp, reason: impl Into<Reason>) -> Gap {
    Gap::of(T::WATCHED, reason).within(Window { from, until })
}
