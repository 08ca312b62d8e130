//! Finalizers that hold what a killed run had created: those who set them may be gone.

use std::time::Duration;

use evidence::{ObjectKey, ObjectRef, api::ObjectKind};
use tokio::time::{Instant, sleep};

use super::Work;
use crate::{
    connect::failure::Failure,
    driver::writes::{Writes, find_creation},
};

/// How long those who set finalizers may take to clean up, for all objects together.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval of the looks at them.
const TICK: Duration = Duration::from_millis(500);

/// An object that was deleted.
pub(super) struct Deleted {
    /// The number of its entry in the journal.
    pub number: u64,
    /// What came of that, for a person.
    pub what: String,
    pub kind: ObjectKind,
    pub key: ObjectKey,
}

/// An object that finalizers hold.
struct Held {
    object: ObjectRef,
    finalizers: Vec<String>,
}

impl Work<'_> {
    /// Waits until objects are gone that were deleted, and then takes the finalizers off those that are still there. Returns for
    /// each that is gone what was taken off, or why it is still there.
    pub(super) async fn release(
        &self,
        run: &str,
        mut deleted: Vec<Deleted>,
    ) -> Vec<(Deleted, Result<Vec<String>, Failure>)> {
        let deadline = Instant::now() + PATIENCE;
        let mut outcomes = Vec::new();
        while !deleted.is_empty() {
            let is_over = Instant::now() >= deadline || self.stop.is_cancelled();
            let mut left = Vec::new();
            for one in deleted {
                match self.held(run, one.kind, &one.key).await {
                    Ok(None) => outcomes.push((one, Ok(Vec::new()))),
                    Ok(Some(held)) if is_over => {
                        let released = self.take_off(one.kind, held).await;
                        outcomes.push((one, released));
                    }
                    Ok(Some(_)) => left.push(one),
                    Err(failure) => outcomes.push((one, Err(failure))),
                }
            }
            deleted = left;
            if !deleted.is_empty() {
                sleep(TICK).await;
            }
        }
        outcomes
    }

    /// An object that the run has created, if it was deleted and is still there.
    async fn held(&self, run: &str, kind: ObjectKind, key: &ObjectKey) -> Result<Option<Held>, Failure> {
        let client = &self.hub.timed();
        let found = find_creation(client, self.target, run, kind, key).await?;
        let held = found.filter(|found| !found["metadata"]["deletionTimestamp"].is_null());
        Ok(held.map(|held| {
            let finalizers = held["metadata"]["finalizers"].as_array().into_iter().flatten();
            let finalizers = finalizers.filter_map(|finalizer| finalizer.as_str().map(str::to_owned));
            Held {
                object: ObjectRef::of_value(&held, kind.name()),
                finalizers: finalizers.collect(),
            }
        }))
    }

    async fn take_off(&self, kind: ObjectKind, held: Held) -> Result<Vec<String>, Failure> {
        let client = &self.hub.timed();
        let writes = Writes::new(client, self.target);
        writes.allow(&held.object);
        writes.release(kind, &held.object).await?;
        Ok(held.finalizers)
    }
}
