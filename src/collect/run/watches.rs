//! What a run watches: of which namespaces, the profiles and the slices.

use std::{fmt::Display, future::pending};

use evidence::{
    Scope, Tracked,
    api::{ClusterProfile, PlacementDecision},
};
use futures::future::join_all;
use jiff::Timestamp;

use crate::{
    progress::SlicesSoFar,
    watch::timeline::{self, Watch},
};

/// The namespaces of the scope, each for a watch of its own. `None` stands for the whole hub.
pub(super) fn watched_namespaces(scope: &Scope) -> Vec<Option<&str>> {
    match scope.namespaces.as_slice() {
        [] => vec![None],
        namespaces => namespaces.iter().map(|name| Some(&**name)).collect(),
    }
}

/// The watches of objects of one kind.
pub(crate) struct Watches<T: Tracked = ClusterProfile>(pub Vec<Watch<T>>);

impl<T: Tracked> Default for Watches<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Tracked> Watches<T> {
    /// Whether the objects of a namespace are followed.
    pub fn hold(&self, namespace: &str) -> bool {
        let mut watched = self.0.iter().map(Watch::namespace);
        watched.any(|watched| watched.is_none_or(|name| name == namespace))
    }

    /// Compares lists with what they have brought. Returns whether all are confirmed.
    pub async fn confirm(&mut self) -> bool {
        let confirmed = join_all(self.0.iter_mut().map(Watch::confirm)).await;
        !confirmed.contains(&false)
    }

    /// Notes that no list has confirmed them since the window ended, which leaves a gap until now.
    pub fn doubt(&mut self, why: &dyn Display, ended: Timestamp) {
        self.0.iter_mut().for_each(|watch| watch.doubt(why));
        // They share a record.
        if let Some(watch) = self.0.first() {
            watch.lose_since(ended, why);
        }
    }

    /// Ends them: what comes later does not count.
    pub fn finish(&mut self, ended: Timestamp) {
        self.0.iter_mut().for_each(|watch| watch.finish(ended));
    }

    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) {
        if self.0.is_empty() {
            // Nothing can change, but the window has its length.
            pending::<()>().await;
        }
        join_all(self.0.iter_mut().map(Watch::follow)).await;
    }
}

/// The watches of slices; none where decisions are not judged.
#[derive(Default)]
pub(super) struct Slices {
    /// What they have seen.
    pub record: timeline::Shared<PlacementDecision>,
    pub watches: Watches<PlacementDecision>,
    /// Why the slices were not listed, and so are not watched.
    pub unlisted: Option<String>,
}

impl Slices {
    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) {
        if self.unlisted.is_some() {
            pending::<()>().await;
        }
        self.watches.follow().await;
    }

    /// What is copied while the watches go on.
    pub fn so_far(&self) -> SlicesSoFar {
        SlicesSoFar {
            record: self.record.clone(),
            unlisted: self.unlisted.clone(),
        }
    }

    /// Whether the scope holds one, or may: not all could be listed.
    pub fn has(&self, scope: &Scope) -> bool {
        self.unlisted.is_some() || self.record.lock().has(|slice| scope.holds_slice(slice))
    }
}

/// What goes on after the window.
pub(super) struct Left {
    pub record: timeline::Shared,
    pub watches: Watches,
    pub slices: Slices,
}
