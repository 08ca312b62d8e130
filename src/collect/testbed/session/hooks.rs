//! Hooks that concern the whole consumer.

use std::{collections::BTreeSet, time::Duration};

use evidence::{DriverAction, HookCall};
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::driver::{Call, Called};

/// The hooks that a testbed calls for the whole consumer.
const OF_ALL: [DriverAction; 3] = [DriverAction::Stop, DriverAction::Start, DriverAction::Uninstall];

impl Session<'_> {
    /// Those of these hooks that the consumer's author gives.
    pub(super) fn hooks(&self) -> BTreeSet<DriverAction> {
        OF_ALL.into_iter().filter(|action| self.can(&[*action])).collect()
    }

    /// Whether the consumer's author gives all of these hooks.
    pub fn can(&self, actions: &[DriverAction]) -> bool {
        let hooks = self.plan.hooks.as_ref();
        let has = |action: &DriverAction| hooks.is_some_and(|hooks| hooks.lacking(*action).is_none());
        actions.iter().all(has)
    }

    /// Calls a hook for the whole consumer, and waits until that is done. False if it fails.
    pub async fn hook(&self, action: DriverAction) -> bool {
        let Some(hooks) = &self.plan.hooks else {
            return false;
        };
        let from = self.now();
        // A consumer that was stopped is started again also when the run ends early.
        let stop = match action {
            DriverAction::Start => CancellationToken::new(),
            _ => self.stop.clone(),
        };
        let Called { failure, output, .. } = hooks.call(&Call::of(action), stop).await;
        if let Some(reason) = &failure {
            self.warn(reason);
        }
        let is_done = failure.is_none();
        let mut state = self.state();
        state.is_idle = match action {
            DriverAction::Start => false,
            _ => state.is_idle || is_done,
        };
        state.hook_calls.push(HookCall {
            action,
            from,
            until: self.now(),
            failure,
            output,
        });
        is_done
    }

    /// How long the consumer may take to act on a profile when it has just been started: one that does one thing after the other
    /// begins with all others.
    pub fn startup(&self) -> Duration {
        let others = u32::try_from(self.state().published.len()).unwrap_or(u32::MAX);
        let each = self.settle().saturating_mul(others.saturating_add(1));
        self.plan.patience.max(each)
    }
}
