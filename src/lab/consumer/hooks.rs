//! Stops the consumer and starts it again, within this process.

use std::convert::Infallible;

use collect::driver::{Call, Called, Hooks};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::driver::within;

/// Whether the consumer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs.
    Running,
    /// It was stopped, and may be started again.
    Stopped,
    /// It was uninstalled.
    Uninstalled,
}

/// The hooks of the consumer.
pub(super) struct ConsumerHooks {
    wanted: watch::Sender<Life>,
    present: watch::Receiver<Life>,
}

/// The consumer's side of its hooks.
pub(super) struct Orders {
    /// What it is to do.
    wanted: watch::Receiver<Life>,
    /// What it does.
    present: watch::Sender<Life>,
}

impl Orders {
    /// Waits until the consumer is to live in such a way.
    pub(super) async fn are(&mut self, such: impl Fn(Life) -> bool) {
        if self.wanted.wait_for(|life| such(*life)).await.is_err() {
            // Nobody is left who could give orders.
            std::future::pending().await
        }
    }

    /// Whether the consumer is to be uninstalled.
    pub(super) fn are_to_uninstall(&self) -> bool {
        *self.wanted.borrow() == Life::Uninstalled
    }

    /// Lives as it is to.
    pub(super) fn follow(&self) {
        self.present.send_replace(*self.wanted.borrow());
    }
}

/// Hooks, and the consumer's side of them.
pub(super) fn hooks() -> (ConsumerHooks, Orders) {
    let (wanted, told) = watch::channel(Life::Running);
    let (present, seen) = watch::channel(Life::Running);
    let hooks = ConsumerHooks {
        wanted,
        present: seen,
    };
    let orders = Orders {
        wanted: told,
        present,
    };
    (hooks, orders)
}

impl ConsumerHooks {
    /// Waits until the consumer lives like that.
    async fn bring(&self, life: Life) {
        self.wanted.send_replace(life);
        let mut present = self.present.clone();
        // A consumer that is gone runs no longer.
        let _ = present.wait_for(|present| *present == life).await;
    }
}

/// The life that a hook brings about.
fn life(action: DriverAction) -> Option<Life> {
    match action {
        DriverAction::Stop => Some(Life::Stopped),
        DriverAction::Start => Some(Life::Running),
        DriverAction::Uninstall => Some(Life::Uninstalled),
        _ => None,
    }
}

impl Hooks for ConsumerHooks {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let lacks = life(action).is_none();
        lacks.then(|| format!("the reference consumer knows no `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        let acting = async {
            // The run never asks for what is lacking.
            if let Some(life) = life(call.action) {
                self.bring(life).await;
            }
            Ok::<_, Infallible>(())
        };
        within(acting, stop).boxed()
    }
}
