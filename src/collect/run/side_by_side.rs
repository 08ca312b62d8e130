//! What is asked while the hub is watched: its members, and before and after, its Namespaces.

use evidence::Kind;
use futures::try_join;
use tokio::{select, sync::watch};

use super::{
    patience::Unfinished,
    state::{ATTEMPTS, Run},
    watches::watched_namespaces,
};
use crate::{
    connect::{call::retry, failure::Failure},
    hub::{error::CollectError, namespaces},
    members::{MemberPoll, Sources},
};

/// Why the Namespaces were not listed.
#[derive(Debug, thiserror::Error)]
enum NotListed {
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    #[error(transparent)]
    Hub(#[from] Failure),
}

impl Run<'_> {
    /// Watches the hub and asks the members, side by side.
    pub(super) async fn profiles_and_members(&mut self, asking: &mut MemberPoll) -> Result<(), CollectError> {
        let places = self.secret_places();
        let namespaces = watched_namespaces(&self.plan.scope).into_iter();
        let profiles: Vec<String> = namespaces
            .map(|namespace| self.target.profiles(namespace))
            .collect();
        let from = Sources {
            hub: &self.client(),
            profiles: &profiles,
            places: &places,
        };
        let (stop, progress) = (self.stop.clone(), self.progress);
        let (over, is_over) = watch::channel(false);
        let asked = async {
            select! {
                biased;
                () = stop.cancelled() => {}
                () = asking.run(from, is_over) => {}
            }
            Ok(())
        };
        let observed = async {
            let outcome = self.profiles_and_namespaces().await;
            if self.plan.members.are_asked() {
                progress.phase("asking members");
            }
            over.send_replace(true);
            outcome
        };
        try_join!(asked, observed).map(|_| ())
    }

    async fn profiles_and_namespaces(&mut self) -> Result<(), CollectError> {
        if !self.reads(Kind::Namespaces) {
            return Box::pin(self.profiles()).await;
        }
        // Listed before and after: if the hub disappears, the first list counts.
        let known = !self.plan.observe.is_zero() && self.namespaces().await.is_ok();
        Box::pin(self.profiles()).await?;
        // In a run that is cut short, the first list is enough.
        if let Err(error) = self.namespaces().await
            && !(known && self.stopped())
        {
            self.gap(Kind::Namespaces, error.to_string());
        }
        Ok(())
    }

    /// Lists the namespaces.
    async fn namespaces(&mut self) -> Result<(), NotListed> {
        let (client, scope) = (&self.client(), &self.plan.scope.namespaces);
        let listing = retry(ATTEMPTS, Failure::may_pass, || {
            namespaces::namespaces(client, &self.permissions, scope)
        });
        match self.patience.within(self.patience.list / 3, listing).await {
            Ok(Ok(found)) => {
                self.evidence.namespaces = found.namespaces;
                // Of two looks, the last one counts.
                let unreadable = &mut self.evidence.unreadable;
                unreadable.retain(|unreadable| unreadable.object.kind != "Namespace");
                unreadable.extend(found.unreadable);
                Ok(())
            }
            Ok(Err(failure)) => Err(failure.into()),
            Err(unfinished) => Err(unfinished.into()),
        }
    }
}
