//! The namespaces that a run observes: all, those of its scope, or its share of either.
//!
//! A share is watched namespace by namespace, so that the hub sends each object to one runner only. A namespace that
//! holds none is listed when the window begins and ends, and not watched: hubs have many of them.

use evidence::{Shard, Tracked};

use super::{
    patience::Unfinished,
    state::{ATTEMPTS, Run},
    watches::{Observed, Watches},
};
use crate::{
    connect::{call::retry, failure::Failure},
    hub::{error::CollectError, missing::NO_NAMESPACES, namespaces},
    watch::{
        seen::share,
        timeline::{self, Watch},
    },
};

impl Run<'_> {
    /// Finds out which namespaces the run observes.
    ///
    /// # Errors
    /// When the plan has a share, and the hub's namespaces cannot be listed.
    pub(super) async fn divide(&mut self) -> Result<(), CollectError> {
        let Some(shard) = self.plan.scope.shard else {
            return Ok(());
        };
        let names = self.names().await?;
        let own = names.into_iter().filter(|name| shard.holds(name)).collect();
        self.observed = Observed::Each(own);
        Ok(())
    }

    /// The names of the namespaces that all shares divide between them.
    async fn names(&self) -> Result<Vec<String>, CollectError> {
        let named = &self.plan.scope.namespaces;
        if !named.is_empty() {
            return Ok(named.clone());
        }
        let forbidden = |message: String| CollectError::Undivided { cause: message };
        if self.permissions.allows("list", "", "namespaces", "") == Some(false) {
            return Err(forbidden(NO_NAMESPACES.to_string()));
        }
        let client = self.client();
        let listing = retry(ATTEMPTS, Failure::may_pass, || {
            namespaces::namespaces(&client, &self.permissions, &[])
        });
        let listed = self.patience.within(self.patience.list / 3, listing).await;
        let found = listed.map_err(|unfinished| match unfinished {
            Unfinished::Stopped => CollectError::Stopped,
            late => forbidden(late.to_string()),
        })?;
        let found = found.map_err(|failure| forbidden(failure.to_string()))?;
        Ok(found
            .namespaces
            .into_iter()
            .map(|namespace| namespace.name)
            .collect())
    }

    /// Sets the watches of a share's namespaces without objects to rest. A run without a share follows all.
    pub(crate) fn rest<T: Tracked>(
        &self,
        watches: Vec<Watch<T>>,
        record: &timeline::Shared<T>,
    ) -> Watches<T> {
        if self.plan.scope.shard.is_none() {
            return Watches {
                followed: watches,
                resting: Vec::new(),
            };
        }
        let holding = record.lock().namespaces();
        let (followed, mut resting): (Vec<_>, Vec<_>) = watches
            .into_iter()
            .partition(|watch| watch.namespace().is_none_or(|name| holding.contains(name)));
        resting.iter_mut().for_each(Watch::rest);
        Watches { followed, resting }
    }

    /// Lists the namespaces of the share that were not watched, new ones too: they may hold objects by now. `path` is where
    /// those of a namespace are.
    pub(crate) async fn visit<T: Tracked>(
        &self,
        mut resting: Vec<Watch<T>>,
        record: &timeline::Shared<T>,
        path: impl Fn(&str) -> String,
    ) {
        let Some(shard) = self.plan.scope.shard else {
            return;
        };
        let Observed::Each(known) = &self.observed else {
            return;
        };
        if let Ok(names) = self.names().await {
            let new = names
                .into_iter()
                .filter(|name| shard.holds(name) && !known.contains(name));
            resting.extend(new.map(|name| self.watch(Some(&name), record, path(&name))));
        }
        for watch in &mut resting {
            match self.patience.within(self.patience.list, watch.visit()).await {
                Ok(()) => {}
                Err(Unfinished::Stopped) => return,
                Err(late) => watch.miss(&late),
            }
        }
    }

    /// Notes which share the run has observed.
    pub(super) fn shared(&mut self, shard: Shard) {
        let share = share(shard, &self.evidence);
        self.progress.phase(&match share.namespaces.as_slice() {
            [] => format!("share {shard} has no namespace with objects to judge"),
            names => format!("share {shard} has the objects of {}", names.join(", ")),
        });
        self.evidence.header.shares = vec![share];
    }
}
