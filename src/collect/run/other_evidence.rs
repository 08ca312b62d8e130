//! What a run reads besides profiles and slices: members while it watches, Namespaces before and after, and the rest once
//! the window is over.

use evidence::{Kind, Requested, api::ObjectKind};
use futures::try_join;
use tokio::{select, sync::watch};

use super::{ATTEMPTS, Run, Unfinished, context::RunContext};
use crate::{
    connect::{RequestFailure, retry},
    hub::{CollectError, EvidenceRequest, NO_SECRETS, listed, places, probe},
    members::{MemberPoll, endpoints},
};

/// In how many consumers' namespaces Secrets without the label are looked for.
const MOST_CONSUMERS: usize = 100;
const STALE: &str = "the profiles could not be listed at the end of the window, so Secrets were not compared";

impl Run<'_> {
    pub(super) async fn after_window(&mut self, asking: MemberPoll) {
        self.secrets().await;
        self.unlabelled_secrets().await;
        self.probe().await;
        self.members(asking).await;
    }

    async fn secrets(&mut self) {
        if !self.reads(Kind::Secrets) {
            return;
        }
        if self.is_stale {
            // All evidence of a run is of one moment.
            self.gap(Kind::Secrets, STALE.to_owned());
            return;
        }
        self.context.progress.phase("reading consumers' Secrets");
        let (client, places) = (&self.context.client, self.secret_places());
        let reading = retry(ATTEMPTS, RequestFailure::may_pass, || {
            listed::secrets(client, &places)
        });
        let read = self.patience.within(self.patience.list, reading).await;
        if let Some(Ok(secrets)) = self.finished(Kind::Secrets, &self.plan.secrets, read) {
            self.evidence.secrets = secrets.objects;
            self.evidence.unreadable.extend(secrets.unreadable);
        }
    }

    async fn unlabelled_secrets(&mut self) {
        if !self.reads(Kind::UnlabelledSecrets) {
            return;
        }
        let (client, places) = (self.context.client.clone(), self.secret_places());
        let consumers = self.evidence.namespaces.iter();
        let consumers = consumers.filter(|namespace| namespace.consumer().is_some());
        let names: Vec<String> = consumers.map(|namespace| namespace.name.clone()).collect();
        if names.len() > MOST_CONSUMERS {
            let reason = format!(
                "the hub has {} namespaces of consumers: only {MOST_CONSUMERS} were read",
                names.len()
            );
            self.gap(Kind::UnlabelledSecrets, reason);
        }
        for namespace in names.iter().take(MOST_CONSUMERS) {
            if !places.iter().any(|place| place.is_empty() || place == namespace) {
                self.gap(Kind::UnlabelledSecrets, NO_SECRETS);
                return;
            }
            let reading = retry(ATTEMPTS, RequestFailure::may_pass, || {
                listed::unlabelled_secrets(&client, namespace)
            });
            let read = self.patience.within(self.patience.list / 2, reading).await;
            match self.finished(Kind::UnlabelledSecrets, &self.plan.secrets, read) {
                Some(Ok(secrets)) => self.evidence.unlabelled_secrets.extend(secrets),
                Some(Err(_)) => {}
                None => return,
            }
        }
    }

    async fn probe(&mut self) {
        if !self.reads(Kind::Probe) {
            return;
        }
        self.context
            .progress
            .phase("trying dry-run changes of a profile's manager");
        let profiles = self.evidence.inventory();
        let RunContext {
            client,
            clock,
            target,
            permissions,
            ..
        } = &self.context;
        let probing = probe::probe(client, *clock, target, permissions, profiles);
        let probing = async { Ok(probing.await) };
        let read = self.patience.within(self.patience.list / 2, probing).await;
        if let Some(Ok(probes)) = self.finished(Kind::Probe, &self.plan.probe, read) {
            self.evidence.probes = probes;
        }
    }

    /// What takes the whole inventory to ask, and what came of it all.
    async fn members(&mut self, mut asking: MemberPoll) {
        if !self.plan.members.are_asked() {
            return;
        }
        self.context.progress.phase("calling the endpoints of profiles");
        let again = asking.again(self.evidence.inventory(), self.patience.left());
        if self.unless_stopped(again).await.is_some() {
            let calling = endpoints::call(self.evidence.inventory(), &self.plan.members, self.context.clock);
            self.evidence.endpoint_calls = self.unless_stopped(calling).await.unwrap_or_default();
        }
        asking.finish(&mut self.evidence);
    }

    /// Notes why a kind of evidence was not read. Returns the outcome if the hub has answered in time.
    fn finished<T>(
        &mut self,
        kind: Kind,
        request: &EvidenceRequest,
        read: Result<Result<T, RequestFailure>, Unfinished>,
    ) -> Option<Result<T, RequestFailure>> {
        match &read {
            Ok(Ok(_)) => {}
            Ok(Err(failure)) => self.gap(kind, failure.to_string()),
            Err(Unfinished::Stopped) if *request != EvidenceRequest::Explicit => {
                self.set_requested(kind, Requested::No(Unfinished::Stopped.to_string().into()));
            }
            Err(unfinished) => self.gap(kind, unfinished.to_string()),
        }
        read.ok()
    }
}

impl Run<'_> {
    pub(super) fn member_poll(&self) -> MemberPoll {
        let plan = self.plan;
        let path = |namespace| {
            self.context
                .target
                .collection(ObjectKind::ClusterProfile, namespace)
        };
        let profiles = places(&plan.scope.namespaces).into_iter().map(path).collect();
        MemberPoll::new(
            self.context.client.clone(),
            profiles,
            &self.secret_places(),
            &plan.members,
            &plan.scope,
            plan.observe,
            self.context.clock,
        )
    }

    pub(super) async fn profiles_and_members(&mut self, asking: &mut MemberPoll) -> Result<(), CollectError> {
        let (stop, progress) = (self.context.stop.clone(), self.context.progress);
        let (over, is_over) = watch::channel(false);
        let polling = async {
            select! {
                biased;
                () = stop.cancelled() => {}
                () = asking.run(is_over) => {}
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
        try_join!(polling, observed).map(|_| ())
    }

    async fn profiles_and_namespaces(&mut self) -> Result<(), CollectError> {
        if !self.reads(Kind::Namespaces) {
            return Box::pin(self.profiles()).await;
        }
        // Listed before and after: if the hub disappears, the first list counts.
        let has_namespaces = !self.plan.observe.is_zero() && self.namespaces().await.is_ok();
        Box::pin(self.profiles()).await?;
        // In a run that is cut short, the first list is enough.
        if let Err(reason) = self.namespaces().await
            && !(has_namespaces && self.stopped())
        {
            self.gap(Kind::Namespaces, reason);
        }
        Ok(())
    }

    /// Lists the namespaces. The error is why they were not listed.
    async fn namespaces(&mut self) -> Result<(), String> {
        let (client, scope) = (&self.context.client, &self.plan.scope.namespaces);
        let listing = retry(ATTEMPTS, RequestFailure::may_pass, || {
            listed::namespaces(client, &self.context.permissions, scope)
        });
        let read = self.patience.within(self.patience.list / 3, listing).await;
        let result = read.map_err(|unfinished| unfinished.to_string())?;
        let listed = result.map_err(|failure| failure.to_string())?;
        self.evidence.namespaces = listed.objects;
        // Of two samples, the last one counts.
        let unreadable = &mut self.evidence.unreadable;
        unreadable.retain(|unreadable| unreadable.object.kind != "Namespace");
        unreadable.extend(listed.unreadable);
        Ok(())
    }
}
