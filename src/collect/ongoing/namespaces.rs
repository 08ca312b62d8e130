//! Follows the Namespaces. Only their present state counts, so each interruption ends in a new list.

use std::{collections::BTreeMap, convert::Infallible, mem, sync::Arc, time::Duration};

use bytes::BytesMut;
use evidence::{
    Namespace, ObjectRef, Unreadable,
    lenient::{self, Untyped},
};
use http::Method;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::{
    connect::{
        call::{TimedClient, request, segment, send},
        failure::Failure,
    },
    hub::{namespaces, permissions::Permissions},
    watch::{
        backoff::Backoff,
        lines::{Event, Lines},
        list::list,
        restored,
        timeline::{LIFETIME, SILENCE},
    },
};

/// Where all namespaces are listed.
const PATH: &str = "/api/v1/namespaces";
/// How often the namespaces of the scope are read where they cannot be watched.
const POLL: Duration = Duration::from_secs(60);
/// The first and the longest wait of a row of failures.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A watch that lasts so long is progress.
const LASTING: Duration = Duration::from_secs(10);

/// The namespaces as they are now.
#[derive(Default)]
pub(super) struct Seen {
    namespaces: BTreeMap<String, Namespace>,
    unreadable: BTreeMap<String, Unreadable>,
    /// True if any has changed since the last look, or if it has become unknown how they are, or known again.
    has_changed: bool,
    /// Why they are not known as they are now, if so.
    pub outage: Option<String>,
}

pub(super) type Shared = Arc<Mutex<Seen>>;

impl Seen {
    /// Nothing is known yet.
    pub fn unlisted() -> Self {
        Self {
            outage: Some("the hub has not listed its namespaces yet".to_owned()),
            ..Self::default()
        }
    }

    fn take(&mut self, object: Untyped<'_>) {
        self.has_changed = true;
        match lenient::namespace(object) {
            Ok(namespace) => {
                self.unreadable.remove(&namespace.name);
                self.namespaces.insert(namespace.name.clone(), namespace);
            }
            Err(unreadable) => {
                self.namespaces.remove(&unreadable.object.name);
                self.unreadable
                    .insert(unreadable.object.name.clone(), *unreadable);
            }
        }
    }

    fn remove(&mut self, object: &ObjectRef) {
        self.has_changed = true;
        self.namespaces.remove(&object.name);
        self.unreadable.remove(&object.name);
    }

    fn replace(&mut self, with: Self) {
        let differs = self.namespaces != with.namespaces || self.unreadable != with.unreadable;
        *self = Self {
            has_changed: self.has_changed || differs || self.outage.is_some(),
            ..with
        };
    }

    fn lose(&mut self, failure: &Failure) {
        self.has_changed |= self.outage.is_none();
        self.outage = Some(failure.to_string());
    }

    /// True if something has changed since the last time that this was asked.
    pub fn take_changed(&mut self) -> bool {
        mem::take(&mut self.has_changed)
    }

    /// True if something has changed since then.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// All namespaces, sorted by name.
    pub fn namespaces(&self) -> Vec<Namespace> {
        self.namespaces.values().cloned().collect()
    }

    /// Those that do not fit their kind.
    pub fn unreadable(&self) -> impl Iterator<Item = &Unreadable> {
        self.unreadable.values()
    }
}

/// Follows the namespaces of a hub, or of a scope.
pub(super) struct Follower {
    client: TimedClient,
    permissions: Permissions,
    scope: Vec<String>,
    seen: Shared,
    backoff: Backoff,
    /// From where the watch goes on; empty before the first list.
    resource_version: String,
}

impl Follower {
    /// Makes one, which has to list first.
    pub fn new(client: TimedClient, permissions: Permissions, scope: &[String]) -> Self {
        Self {
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT, client.seed),
            client,
            permissions,
            scope: scope.to_vec(),
            seen: Arc::new(Mutex::new(Seen::unlisted())),
            resource_version: String::new(),
        }
    }

    /// What it sees.
    pub fn seen(&self) -> Shared {
        Arc::clone(&self.seen)
    }

    fn may(&self, verb: &str) -> bool {
        self.permissions.allows(verb, "", "namespaces", "") != Some(false)
    }

    /// Lists the namespaces.
    pub async fn list(&mut self) -> Result<(), Failure> {
        let mut found = Seen::default();
        if self.may("list") {
            let into = Arc::new(Mutex::new(Seen::default()));
            let taken = Arc::clone(&into);
            let each = move |json: &[u8]| into.lock().take(Untyped::Text(json));
            self.resource_version = list(&self.client, PATH, each).await?;
            found = mem::take(&mut *taken.lock());
        } else {
            let listed = namespaces::namespaces(&self.client, &self.permissions, &self.scope).await?;
            let named = listed.namespaces.into_iter();
            found.namespaces = named
                .map(|namespace| (namespace.name.clone(), namespace))
                .collect();
            let unreadable = listed.unreadable.into_iter();
            found.unreadable = unreadable.map(|one| (one.object.name.clone(), one)).collect();
        }
        self.seen.lock().replace(found);
        Ok(())
    }

    /// Keeps them current, for as long as it is polled.
    pub async fn follow(&mut self) -> Infallible {
        let watches = self.may("list") && self.may("watch");
        loop {
            if self.resource_version.is_empty()
                && let Err(failure) = self.list().await
            {
                self.lost(&failure).await;
                continue;
            }
            if !watches {
                self.resource_version.clear();
                sleep(POLL).await;
                continue;
            }
            let began = Instant::now();
            let ended = self.watch().await;
            if began.elapsed() >= LASTING {
                self.backoff.reset();
            }
            match ended {
                Ok(()) if began.elapsed() >= LASTING => {}
                Ok(()) => self.wait(Duration::ZERO).await,
                Err(failure) => {
                    // Only a list shows what was missed.
                    self.resource_version.clear();
                    self.lost(&failure).await;
                }
            }
        }
    }

    async fn lost(&mut self, failure: &Failure) {
        self.seen.lock().lose(failure);
        self.wait(failure.asked_wait()).await;
    }

    async fn wait(&mut self, asked: Duration) {
        sleep(self.backoff.next().max(asked).min(LONGEST_WAIT)).await;
        self.client.cost.turn().await;
    }

    /// Takes events until the hub ends the watch.
    async fn watch(&mut self) -> Result<(), Failure> {
        let path = format!(
            "{PATH}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={LIFETIME}",
            segment(&self.resource_version)
        );
        let mut lines = Lines::new(send(&self.client, request(Method::GET, &path)?).await?);
        restored::check(&self.client, PATH, &self.resource_version).await?;
        while let Some(line) = lines.next(SILENCE).await? {
            self.take(&line)?;
        }
        Ok(())
    }

    fn take(&mut self, line: &BytesMut) -> Result<(), Failure> {
        let identify = |json| lenient::identity(Untyped::Text(json), "Namespace");
        let resource_version = match Event::read(line)? {
            Event::Added(json) | Event::Modified(json) => {
                self.seen.lock().take(Untyped::Text(json));
                identify(json).resource_version
            }
            Event::Deleted(json) => {
                let object = identify(json);
                self.seen.lock().remove(&object);
                object.resource_version
            }
            Event::Bookmark { resource_version, .. } => resource_version,
        };
        if !resource_version.is_empty() {
            self.resource_version = resource_version;
        }
        Ok(())
    }
}
