//! Both reference implementations on one hub as one driven implementation.

use std::sync::Arc;

use collect::driver::{Call, Called, Hooks};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use crate::{manager::ReferenceHooks, scheduler::SchedulerHooks};

/// Drives the reference manager and the reference scheduler.
pub struct BothHooks {
    manager: Arc<ReferenceHooks>,
    scheduler: Arc<SchedulerHooks>,
}

impl BothHooks {
    /// Drives both.
    pub fn new(manager: Arc<ReferenceHooks>, scheduler: Arc<SchedulerHooks>) -> Self {
        Self { manager, scheduler }
    }
}

impl Hooks for BothHooks {
    fn lacking(&self, _: DriverAction) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            if call.placement.is_some() {
                return self.scheduler.call(call, stop).await;
            }
            let called = self.manager.call(call, stop.clone()).await;
            // A restart is one of both, as of a program that is both.
            if call.action == DriverAction::Restart && called.failure.is_none() {
                return self.scheduler.call(call, stop).await;
            }
            called
        }
        .boxed()
    }
}
