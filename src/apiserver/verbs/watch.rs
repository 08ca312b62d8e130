//! Watches: streams changes, from a resourceVersion or after the current objects.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use serde_json::json;
use tokio::{sync::watch::Receiver, time::Instant};

use super::{
    read::{in_version, revision, too_large},
    selectors::Selector,
};
use crate::{
    about::WatchFaults,
    context::{AuditEntry, Context, ServerState},
    object::status::{HandlerResult, StatusFailure},
    request::{Form, Reply},
    store::{
        route::Route,
        storage::{StorageChange, StorageEntry, Stored, prefix},
    },
};

/// The interval of bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before its end a watch gets a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The default timeout of a watch. kube-apiserver picks one from 30 to 60 minutes.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);

impl Context<'_> {
    pub(crate) fn watch(&mut self, route: &Route, form: &Form) -> HandlerResult<Reply> {
        let query = &self.info.query;
        let selector = self.selector(route)?;
        let requested = revision(query, true)?;
        let timeout = match query.number("timeoutSeconds")?.map_or(Ok(0), u64::try_from) {
            Ok(0) | Err(_) => DEFAULT_TIMEOUT,
            Ok(seconds) => Duration::from_secs(seconds),
        };
        let storage = self.state.storage();
        let table = storage.table(&route.resource.id());
        let table = table.ok_or_else(StatusFailure::no_such_resource)?;
        let faults = self.state.faults.of_watches();
        let streaming = query.flag("sendInitialEvents");
        let mut audit = self.entry.clone();
        audit.started(200);
        let revision = if requested == 0 || streaming {
            storage.revision
        } else {
            // Beyond the newest one, as after a restored backup, kube-apiserver is silent until it is reached.
            requested
        };
        let mut watcher = Watcher {
            state: self.state.clone(),
            route: route.clone(),
            prefix: prefix(route.namespace()),
            selector,
            wake: table.wake.subscribe(),
            drops: self.state.drops.subscribe(),
            revision,
            ready: VecDeque::new(),
            bookmarks: query.flag("allowWatchBookmarks"),
            form: form.clone(),
            first: true,
            next_bookmark: Instant::now(),
            sent_revision: storage.revision.max(revision),
            deadline: Instant::now() + timeout,
            remaining_events: faults.drop_after,
            faults,
            held_until: None,
            audit,
        };
        watcher.drops.mark_unchanged();
        watcher.plan_bookmark();
        if streaming && requested > storage.revision {
            watcher.fail(&too_large(requested, storage.revision));
        } else if streaming || requested == 0 && query.get("sendInitialEvents").is_empty() {
            for (_, object) in table.list(route.namespace()) {
                if watcher.selects(object) {
                    watcher.tell("ADDED", &in_version(object, route));
                }
            }
            // With bookmarks, one marks the end of the initial events, in streaming lists and without.
            if watcher.bookmarks {
                watcher.bookmark(storage.revision, true);
            }
        } else if watcher.revision < table.compacted {
            let message = format!("too old resource version: {requested} ({})", table.compacted);
            watcher.fail(&StatusFailure::new(410, "Expired", message));
        }
        Ok(Reply::events(stream::unfold(watcher, |mut watcher| async move {
            Some((watcher.next().await?, watcher))
        })))
    }
}

/// One open watch.
struct Watcher {
    state: Arc<ServerState>,
    route: Route,
    /// The prefix of its objects' keys.
    prefix: String,
    selector: Selector,
    wake: Receiver<u64>,
    drops: Receiver<u64>,
    /// The revision of the newest known change.
    revision: u64,
    /// Events to be sent.
    ready: VecDeque<Bytes>,
    /// The number of events until it ends, if limited.
    remaining_events: Option<usize>,
    bookmarks: bool,
    form: Form,
    /// No event was sent yet.
    first: bool,
    next_bookmark: Instant,
    /// The revision of the last bookmark, or of the start: it is not repeated.
    sent_revision: u64,
    deadline: Instant,
    faults: WatchFaults,
    /// The end of the delay of pending changes, if any.
    held_until: Option<Instant>,
    audit: AuditEntry,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.audit.complete(200);
    }
}

impl Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.remaining_events == Some(0) {
                return None;
            }
            if let Some(event) = self.ready.pop_front() {
                self.remaining_events = self.remaining_events.map(|events| events - 1);
                return Some(event);
            }
            if !self.is_held() && !self.catch_up() {
                return None;
            }
            if !self.ready.is_empty() {
                continue;
            }
            let release = self.held_until.unwrap_or(self.deadline);
            tokio::select! {
                biased;
                // Dropped on demand, or the server is gone.
                _ = self.drops.changed() => return None,
                changed = self.wake.changed() => changed.ok()?,
                () = tokio::time::sleep_until(self.deadline) => return None,
                () = tokio::time::sleep_until(release), if self.held_until.is_some() => {}
                () = tokio::time::sleep_until(self.next_bookmark), if self.bookmarks && !self.faults.no_bookmarks => {
                    self.plan_bookmark();
                    if let Some(revision) = self.quiet_revision().filter(|revision| *revision > self.sent_revision) {
                        self.bookmark(revision, false);
                    }
                }
            }
        }
    }

    /// True if there are changes of which it is not yet the time to tell.
    fn is_held(&mut self) -> bool {
        if !self.faults.hold.is_zero() && self.quiet_revision().is_none() {
            self.held_until.get_or_insert(Instant::now() + self.faults.hold);
        }
        self.held_until.is_some_and(|until| until > Instant::now())
    }

    /// Reads the changes. False when the resource is no longer served.
    fn catch_up(&mut self) -> bool {
        self.held_until = None;
        self.wake.mark_unchanged();
        let changes = {
            let storage = self.state.storage();
            let Some(table) = storage.table(&self.route.resource.id()) else {
                return false;
            };
            table.changes_after(self.revision)
        };
        match changes {
            Some(changes) => changes.iter().for_each(|change| self.change(change)),
            // It lagged behind what the history keeps.
            None => self.fail(&StatusFailure::new(410, "Expired", "too old resource version")),
        }
        true
    }

    /// The next bookmark comes after a while, or just before the end.
    fn plan_bookmark(&mut self) {
        let now = Instant::now();
        let regular = now + BOOKMARK_EVERY;
        let last = self
            .deadline
            .checked_sub(LAST_BOOKMARK)
            .filter(|last| *last > now);
        self.next_bookmark = last.map_or(regular, |last| regular.min(last));
    }

    /// The newest revision, when this watch has sent every change up to it.
    fn quiet_revision(&self) -> Option<u64> {
        let storage = self.state.storage();
        let table = storage.table(&self.route.resource.id())?;
        table.is_quiet_after(self.revision).then_some(storage.revision)
    }

    fn change(&mut self, change: &StorageChange) {
        self.revision = change.revision;
        if !change.key.starts_with(&self.prefix) {
            return;
        }
        let before = change.before.as_ref().filter(|before| self.selects(before));
        let now = Some(&change.object).filter(|now| !change.deleted && self.selects(now));
        match (before, now) {
            (None, None) => {}
            (None, Some(now)) => self.tell("ADDED", &in_version(now, &self.route)),
            (Some(_), Some(now)) => self.tell("MODIFIED", &in_version(now, &self.route)),
            (Some(_), None) if change.deleted => {
                self.tell("DELETED", &in_version(&change.object, &self.route));
            }
            (Some(before), None) => {
                // It left the selection: as it was, with the revision of the change.
                let mut deleted = in_version(before, &self.route).object().clone();
                deleted["metadata"]["resourceVersion"] = change.revision.to_string().into();
                self.tell("DELETED", &Stored::new(deleted, change.revision));
            }
        }
    }

    fn selects(&self, object: &StorageEntry) -> bool {
        self.selector.is_everything() || self.selector.matches(in_version(object, &self.route).object())
    }

    fn bookmark(&mut self, revision: u64, initial_end: bool) {
        self.sent_revision = revision;
        let mut object = json!({
            "kind": self.route.resource.kind,
            "apiVersion": self.route.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if initial_end {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.tell("BOOKMARK", &Stored::new(object, revision));
    }

    /// Sends a failure and ends.
    fn fail(&mut self, failure: &StatusFailure) {
        self.push("ERROR", failure.to_value().to_string().as_bytes());
        let remaining = self.ready.len();
        self.remaining_events = Some(
            self.remaining_events
                .map_or(remaining, |until| until.min(remaining)),
        );
    }

    /// Takes in an event about an object.
    fn tell(&mut self, kind: &str, object: &Stored) {
        if self.form.is_plain() {
            self.push(kind, &object.bytes());
        } else {
            let now = self.state.now();
            let formed = self.form.object(object.object(), &self.route, now, self.first);
            self.push(kind, formed.to_string().as_bytes());
        }
        self.first = false;
    }

    fn push(&mut self, kind: &str, object: &[u8]) {
        let mut event = Vec::with_capacity(object.len() + 40);
        event.extend(b"{\"type\":\"");
        event.extend(kind.as_bytes());
        event.extend(b"\",\"object\":");
        event.extend(object);
        event.extend(b"}\n");
        self.ready.push_back(event.into());
    }
}
