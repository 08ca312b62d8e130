//! The consumer's hooks: they stop, start and uninstall it within this process.

use std::convert::Infallible;

use collect::driver::{Call, Called, Hooks};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::driver::within;

/// Whether the consumer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// It runs.
    Running,
    /// It was stopped, and may be started again.
    Stopped,
    /// It was uninstalled.
    Uninstalled,
}

/// The hooks of the consumer.
pub(super) struct ConsumerHooks {
    wanted: watch::Sender<RunState>,
    present: watch::Receiver<RunState>,
}

/// The consumer's side of its hooks.
pub(super) struct Orders {
    /// The state that the hooks ask for.
    wanted: watch::Receiver<RunState>,
    /// Its present state.
    present: watch::Sender<RunState>,
}

impl Orders {
    /// Waits until the wanted state fulfils the condition.
    pub(super) async fn wait(&mut self, condition: impl Fn(RunState) -> bool) {
        if self.wanted.wait_for(|state| condition(*state)).await.is_err() {
            // The run has ended.
            std::future::pending().await
        }
    }

    /// Whether the consumer should be uninstalled.
    pub(super) fn is_uninstall(&self) -> bool {
        *self.wanted.borrow() == RunState::Uninstalled
    }

    /// Reports that the consumer is in the wanted state.
    pub(super) fn report(&self) {
        self.present.send_replace(*self.wanted.borrow());
    }
}

/// Hooks, and the consumer's side of them.
pub(super) fn hooks() -> (ConsumerHooks, Orders) {
    let (wanted, told) = watch::channel(RunState::Running);
    let (present, seen) = watch::channel(RunState::Running);
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
    /// Asks for a state, and waits until the consumer is in it.
    async fn bring_to(&self, state: RunState) {
        self.wanted.send_replace(state);
        let mut present = self.present.clone();
        // An error means that the consumer no longer exists.
        let _ = present.wait_for(|present| *present == state).await;
    }
}

/// The state after a hook.
fn state_after(action: DriverAction) -> Option<RunState> {
    match action {
        DriverAction::Stop => Some(RunState::Stopped),
        DriverAction::Start => Some(RunState::Running),
        DriverAction::Uninstall => Some(RunState::Uninstalled),
        _ => None,
    }
}

impl Hooks for ConsumerHooks {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let lacks = state_after(action).is_none();
        lacks.then(|| format!("the reference consumer has no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        let acting = async {
            // The run calls no hook that is lacking.
            if let Some(state) = state_after(call.action) {
                self.bring_to(state).await;
            }
            Ok::<_, Infallible>(())
        };
        within(acting, stop).boxed()
    }
}
