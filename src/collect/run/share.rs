//! The namespaces that a run observes: all, those of its scope, or its share of either.
//!
//! A share is watched namespace by namespace, so that the hub sends each profile to one runner only. A namespace that
//! holds no profile is listed when the window begins and ends, and not watched: hubs have many of them.

use std::collections::BTreeSet;

use evidence::{Evidence, Shard, Share};
use futures::future::{join_all, pending};

use super::{
    patience::Unfinished,
    profiles::{ATTEMPTS, Run},
};
use crate::{
    connect::call::{Failure, retry},
    hub::{error::CollectError, missing::NO_NAMESPACES, namespaces, target::Target},
    watch::timeline::{self, Watch},
};

/// Which namespaces are observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// All of the hub, by one watch.
    All,
    /// These, each by a watch of its own.
    Each(Vec<String>),
}

impl Observed {
    /// What a run observes that has no share.
    pub fn of_scope(namespaces: &[String]) -> Self {
        match namespaces {
            [] => Observed::All,
            namespaces => Observed::Each(namespaces.to_vec()),
        }
    }

    /// The paths of their profiles.
    pub fn paths(&self, target: &Target) -> Vec<String> {
        match self {
            Observed::All => vec![target.profiles(None)],
            Observed::Each(names) => names.iter().map(|name| target.profiles(Some(name))).collect(),
        }
    }
}

/// The watches of a share.
pub(crate) struct Watches {
    /// Those that are followed.
    pub followed: Vec<Watch>,
    /// Those of namespaces without profiles, which are not.
    pub resting: Vec<Watch>,
}

impl Watches {
    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) {
        if self.followed.is_empty() {
            // Nothing can change, but the window has its length.
            pending::<()>().await;
        }
        join_all(self.followed.iter_mut().map(Watch::follow)).await;
    }
}

impl Run<'_> {
    /// Finds out which namespaces the run observes.
    ///
    /// # Errors
    /// When the plan has a share, and the hub's namespaces cannot be listed.
    pub(crate) async fn divide(&mut self) -> Result<(), CollectError> {
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

    /// Sets the watches of a share's namespaces without profiles to rest. A run without a share follows all.
    pub(crate) fn rest(&self, watches: Vec<Watch>, record: &timeline::Shared) -> Watches {
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

    /// Lists the namespaces of the share that were not watched, new ones too: they may hold profiles by now.
    pub(crate) async fn visit(&mut self, mut resting: Vec<Watch>, record: &timeline::Shared) {
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
            resting
                .extend(new.map(|name| self.watch(Some(&name), record, self.target.profiles(Some(&name)))));
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
    pub(crate) fn shared(&mut self, shard: Shard) {
        let share = share(shard, &self.evidence);
        self.progress.phase(&match share.namespaces.as_slice() {
            [] => format!("share {shard} has no namespace with profiles"),
            names => format!("share {shard} has the profiles of {}", names.join(", ")),
        });
        self.evidence.header.shares = vec![share];
    }
}

/// The share that the evidence holds.
pub(crate) fn share(shard: Shard, evidence: &Evidence) -> Share {
    let profiles = evidence.profiles.iter();
    let namespaces: BTreeSet<&str> = profiles
        .map(|history| &*history.last().metadata.namespace)
        .collect();
    Share {
        shard,
        namespaces: namespaces.into_iter().map(str::to_owned).collect(),
        window: evidence.header.window,
        settled: evidence.header.settled,
    }
}
