//! What a run watches: the profiles, and the slices of decisions.

use std::{fmt::Display, future::pending};

use evidence::{Scope, Tracked, api::ClusterProfile};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{join_all, ready},
    stream,
};
use jiff::Timestamp;

use super::patience::Patience;
use crate::{
    connect::failure::Failure,
    watch::timeline::{self, Watch, gap},
};

/// How many lists are read at a time.
const AT_ONCE: usize = 16;

/// The namespaces of the scope, each for a watch of its own. `None` stands for the whole hub.
pub(super) fn watched_namespaces(scope: &Scope) -> Vec<Option<&str>> {
    match scope.namespaces.as_slice() {
        [] => vec![None],
        namespaces => namespaces.iter().map(|name| Some(&**name)).collect(),
    }
}

/// The watches of objects of one kind, and what they have brought. By default none.
pub(crate) struct Watches<T: Tracked = ClusterProfile> {
    pub record: timeline::Shared<T>,
    /// Why not all objects were listed; then they are not watched.
    pub unlisted: Option<String>,
    watches: Vec<Watch<T>>,
}

impl<T: Tracked> Default for Watches<T> {
    fn default() -> Self {
        Self::new(timeline::Shared::default(), Vec::new())
    }
}

impl<T: Tracked> Watches<T> {
    /// Watches that share a record.
    pub fn new(record: timeline::Shared<T>, watches: Vec<Watch<T>>) -> Self {
        Self {
            record,
            unlisted: None,
            watches,
        }
    }

    /// Lists the objects for the first time. What a list without an end has shown is worth to be judged.
    ///
    /// # Errors
    /// When the hub refuses.
    pub async fn start(&mut self, patience: &Patience) -> Result<(), Failure> {
        let start = stream::iter(self.watches.iter_mut().map(Watch::start)).buffer_unordered(AT_ONCE);
        let start = start.try_for_each(|()| ready(Ok(())));
        match patience.within(patience.list, start).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) if failure.is_silence() => self.unlisted = Some(failure.to_string()),
            Ok(Err(failure)) => return Err(failure),
            Err(unfinished) => self.unlisted = Some(unfinished.to_string()),
        }
        Ok(())
    }

    /// Whether the objects of a namespace are watched.
    pub fn hold(&self, namespace: &str) -> bool {
        let mut watched = self.watches.iter().map(Watch::namespace);
        watched.any(|watched| watched.is_none_or(|name| name == namespace))
    }

    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) {
        if self.watches.is_empty() || self.unlisted.is_some() {
            // Nothing can change, but the window has its length.
            pending::<()>().await;
        }
        join_all(self.watches.iter_mut().map(Watch::follow)).await;
    }

    /// Compares lists with what the watches have brought. Returns whether all are confirmed.
    pub async fn confirm(&mut self) -> bool {
        let confirmed = join_all(self.watches.iter_mut().map(Watch::confirm)).await;
        !confirmed.contains(&false)
    }

    /// Confirms and ends the watches when the window has ended. Returns whether all are confirmed; an unconfirmed one leaves a
    /// gap.
    pub async fn end_window(&mut self, patience: &Patience, ended: Timestamp) -> bool {
        let mut is_confirmed = false;
        if self.unlisted.is_none() {
            match patience.at_last(patience.list, self.confirm()).await {
                Ok(confirmed) => is_confirmed = confirmed,
                Err(late) => self.doubt(&late, ended),
            }
        }
        self.finish(ended);
        is_confirmed
    }

    /// Notes that no list has confirmed the watches since the window ended, which leaves a gap until now.
    fn doubt(&mut self, why: &dyn Display, ended: Timestamp) {
        self.watches.iter_mut().for_each(|watch| watch.doubt(why));
        // They share a record.
        if let Some(watch) = self.watches.first() {
            watch.lose_since(ended, why);
        }
    }

    /// Notes that no list has confirmed the watches after the window.
    pub fn doubt_later(&self, now: Timestamp) {
        let reason = "no list confirmed what the watch saw after the window";
        let known = self.watches.iter().map(Watch::known_until).min();
        let lost = known.map(|known| gap::<T>(known, now, reason));
        self.record.lock().gaps.extend(lost);
    }

    /// Ends the watches: later changes do not count.
    pub fn finish(&mut self, ended: Timestamp) {
        self.watches.iter_mut().for_each(|watch| watch.finish(ended));
    }
}
