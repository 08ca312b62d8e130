//! The watch: a list, then the changes since, through every interruption.
//!
//! The loop is our own: a client library's retries hide what rules must know, which is what was missed and when.

mod confirm;

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::BytesMut;
use evidence::{Gap, Kind, Origin};
use http::Method;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::{
    call::{ATTEMPTS, Failure, TimedClient, request, segment, send},
    lines::{Event, Lines},
    list::list,
    record::Record,
};
use crate::clock::Clock;

/// The `timeoutSeconds` of a watch: the hub ends it then, which reveals dead connections.
const LIFETIME: u64 = 240;
/// How long a watch may be silent: longer than its lifetime.
const SILENCE: Duration = Duration::from_secs(LIFETIME + 30);
/// The longest interruption that leaves no gap: no rule notices a delay as short as this.
const BRIEF: SignedDuration = SignedDuration::from_secs(10);
/// How long a silence may be before the connection is in doubt: bookmarks come every minute.
const QUIET: SignedDuration = SignedDuration::from_secs(75);
/// How long a new watch is heard at the end, after a long silence.
const LAST_WORD: Duration = Duration::from_secs(2);
/// A change that arrives this soon after an interruption may have happened during it.
const CATCHING_UP: SignedDuration = SignedDuration::from_secs(1);

/// The record, shared by the watches of several namespaces and the threads that read lists.
pub(super) type Shared = Arc<Mutex<Record>>;

/// The watch of the hub's profiles, or of one namespace's.
pub(super) struct Watch {
    client: TimedClient,
    clock: Clock,
    record: Shared,
    /// The path of the collection.
    path: String,
    namespace: Option<String>,
    /// Whether the hub may support streaming lists.
    streams: bool,
    resource_version: String,
    lines: Option<Lines>,
    /// Its number in the record.
    number: usize,
    /// When it began.
    began: Timestamp,
    /// Until when every change is known.
    heard: Timestamp,
    /// Why the watch is interrupted now.
    outage: Option<String>,
    /// The end of a long interruption and its gap, until the hub has caught up.
    resumed: Option<(Timestamp, Gap)>,
    failures: u32,
}

impl Watch {
    /// A watch of the collection at `path`, which is that of `namespace`, or of the whole hub. Without `streams` it
    /// begins with a plain list.
    pub fn new(
        client: TimedClient,
        clock: Clock,
        record: Shared,
        path: String,
        namespace: Option<String>,
        streams: bool,
    ) -> Self {
        let number = record.lock().add_watch(clock.now());
        Self {
            client,
            record,
            number,
            path,
            namespace,
            streams,
            resource_version: String::new(),
            lines: None,
            began: clock.now(),
            heard: clock.now(),
            outage: None,
            resumed: None,
            failures: 0,
            clock,
        }
    }

    /// The namespace that it is confined to.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Closes the watch until [`Watch::visit`].
    pub fn rest(&mut self) {
        self.lines = None;
        self.record.lock().rest(self.number);
    }

    /// Lists the profiles for the first time.
    ///
    /// # Errors
    /// When the hub refuses the list, or fails repeatedly.
    pub async fn start(&mut self) -> Result<(), Failure> {
        while let Err(failure) = self.look(Origin::Listed).await {
            self.failures += 1;
            if !failure.may_pass() || self.failures == ATTEMPTS {
                return Err(failure);
            }
            sleep(failure.wait(self.failures)).await;
        }
        self.failures = 0;
        Ok(())
    }

    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) -> Infallible {
        loop {
            let Err(failure) = self.listen().await else {
                continue;
            };
            self.lines = None;
            self.resumed = None;
            if failure.code() == 410 {
                self.look_again(&failure).await;
                continue;
            }
            self.failures += 1;
            self.outage = Some(failure.to_string());
            sleep(failure.wait(self.failures)).await;
        }
    }

    /// Ends the watch. An interruption that lasts until now leaves a gap.
    pub fn finish(self, now: Timestamp) {
        if let Some(cause) = &self.outage
            && now.duration_since(self.heard) > BRIEF
        {
            let reason = format!(
                "the watch{} was lost and did not come back: {cause}",
                self.place()
            );
            self.record.lock().gaps.push(gap(self.heard, now, reason));
        }
    }

    /// Records events until the hub ends the watch, as it does every few minutes.
    async fn listen(&mut self) -> Result<(), Failure> {
        let fresh = self.lines.is_none();
        if fresh {
            self.resume().await?;
        }
        let since = self.clock.now();
        let mut heard = !fresh;
        loop {
            let lines = self.lines.as_mut().expect("was just opened");
            let line = match lines.next(SILENCE).await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(failure) => {
                    // A connection that breaks has delivered everything until then; a silent one may not have.
                    if !failure.is_silence() {
                        self.broke_off();
                    }
                    return Err(failure);
                }
            };
            self.take(&line)?;
            self.failures = 0;
            heard = true;
        }
        self.broke_off();
        if !heard && self.clock.now().duration_since(since) < SignedDuration::from_secs(1) {
            return Err(Failure::broken("the hub ended the watch as soon as it began"));
        }
        Ok(())
    }

    /// The hub has ended the watch: every change is known until now, unless the hub was still catching up.
    fn broke_off(&mut self) {
        self.lines = None;
        let now = self.clock.now();
        let catching_up = |(resumed, _): (Timestamp, Gap)| now.duration_since(resumed) < CATCHING_UP;
        if !self.resumed.take().is_some_and(catching_up) {
            self.hear(now);
        }
    }

    /// Every change is known until now.
    fn hear(&mut self, now: Timestamp) {
        self.heard = now;
        self.record.lock().hear(self.number, now);
    }

    /// Opens the watch again from the last known resourceVersion.
    async fn resume(&mut self) -> Result<(), Failure> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={LIFETIME}",
            self.path,
            segment(&self.resource_version)
        );
        let response = send(&self.client, request(Method::GET, &path)?).await?;
        self.lines = Some(Lines::new(response));
        let now = self.clock.now();
        if let Some(cause) = self.outage.take()
            && now.duration_since(self.heard) > BRIEF
        {
            let reason = format!(
                "the watch{} was interrupted: changes during that time were seen late ({cause})",
                self.place()
            );
            self.resumed = Some((now, gap(self.heard, now, reason)));
        }
        Ok(())
    }

    /// Records one event.
    fn take(&mut self, line: &BytesMut) -> Result<(), Failure> {
        let event = Event::read(line)?;
        let now = self.clock.now();
        let mut record = self.record.lock();
        let resource_version = match event {
            Event::Added(json) => record.changed(json, Origin::Created, now),
            // If the profile is new to the record, its earlier versions were missed.
            Event::Modified(json) => record.changed(json, Origin::Relisted, now),
            Event::Deleted(json) => record.deleted(json, now),
            Event::Bookmark { resource_version, .. } => {
                self.resumed = None;
                resource_version
            }
        };
        if let Some((resumed, gap)) = self.resumed.take()
            && now.duration_since(resumed) < CATCHING_UP
        {
            record.gaps.push(gap);
        }
        drop(record);
        if !resource_version.is_empty() {
            self.resource_version = resource_version;
        }
        self.hear(now);
        Ok(())
    }

    /// The hub no longer has the changes since the last known resourceVersion: only a new list can show their outcome.
    async fn look_again(&mut self, gone: &Failure) {
        self.outage = Some(gone.to_string());
        while let Err(failure) = self.look(Origin::Relisted).await {
            self.lines = None;
            self.failures += 1;
            self.outage = Some(failure.to_string());
            sleep(failure.wait(self.failures)).await;
        }
        self.failures = 0;
        self.outage = None;
        let now = self.clock.now();
        let reason = format!(
            "the hub no longer had all changes{}: those in between were missed ({})",
            self.place(),
            gone
        );
        self.record.lock().gaps.push(gap(self.heard, now, reason));
        self.hear(now);
    }

    /// Lists the profiles, after which the watch can go on.
    async fn look(&mut self, origin: Origin) -> Result<(), Failure> {
        if self.streams {
            match self.stream(origin).await {
                // Older hubs refuse the options; some accept them and never end the list.
                Err(failure) if matches!(failure.code(), 400 | 422) || failure.is_silence() => {
                    self.streams = false;
                }
                outcome => return outcome,
            }
        }
        self.list(origin).await
    }

    /// Lists the profiles by a streaming list, which goes on as the watch.
    async fn stream(&mut self, origin: Origin) -> Result<(), Failure> {
        let path = format!(
            "{}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\
             &timeoutSeconds={LIFETIME}",
            self.path
        );
        let response = send(&self.client, request(Method::GET, &path)?).await?;
        let mut lines = Lines::new(response);
        let pass = self.record.lock().begin(origin);
        let early = || Failure::broken("the hub ended the watch before the list was complete");
        loop {
            let line = lines.next(self.client.request_timeout).await?.ok_or_else(early)?;
            let event = Event::read(&line)?;
            let now = self.clock.now();
            let mut record = self.record.lock();
            match event {
                Event::Added(json) | Event::Modified(json) => {
                    record.met(json, pass, now);
                }
                Event::Deleted(json) => {
                    record.deleted(json, now);
                }
                Event::Bookmark {
                    resource_version,
                    initial_events_end: true,
                } => {
                    if resource_version.is_empty() {
                        return Err(Failure::broken("the hub's list has no resourceVersion"));
                    }
                    record.end(pass, self.namespace.as_deref(), now);
                    drop(record);
                    self.resource_version = resource_version;
                    self.lines = Some(lines);
                    if origin == Origin::Listed {
                        self.hear(now);
                    }
                    return Ok(());
                }
                Event::Bookmark { .. } => {}
            }
        }
    }

    /// Lists the profiles by a plain list, from whose resourceVersion a watch can begin.
    async fn list(&mut self, origin: Origin) -> Result<(), Failure> {
        let (record, clock) = (Arc::clone(&self.record), self.clock);
        let pass = record.lock().begin(origin);
        let each = move |json: &[u8]| {
            record.lock().met(json, pass, clock.now());
        };
        let resource_version = list(&self.client, &self.path, each).await?;
        if resource_version.is_empty() {
            return Err(Failure::broken("the hub's list has no resourceVersion"));
        }
        let now = self.clock.now();
        self.record.lock().end(pass, self.namespace.as_deref(), now);
        self.resource_version = resource_version;
        self.lines = None;
        if origin == Origin::Listed {
            self.hear(now);
        }
        Ok(())
    }

    fn place(&self) -> String {
        let namespace = self.namespace.as_deref();
        namespace
            .map(|name| format!(" of namespace {name}"))
            .unwrap_or_default()
    }
}

fn gap(from: Timestamp, until: Timestamp, reason: String) -> Gap {
    Gap {
        kind: Kind::Timeline,
        from: Some(from),
        until: Some(until),
        object: None,
        share: None,
        reason,
    }
}
