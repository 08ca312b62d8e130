//! What a run reads once the window is over: Secrets, the answers to dry runs, and what takes the whole inventory to ask.

use evidence::{Asked, Kind};

use super::{
    patience::Unfinished,
    state::{ATTEMPTS, Run},
};
use crate::{
    connect::{call::retry, failure::Failure},
    hub::{missing::NO_SECRETS, probe, secrets, wanted::Wish},
    members::{MemberPoll, Sources, endpoints},
};

/// In how many consumers' namespaces Secrets without the label are looked for.
const MOST_CONSUMERS: usize = 100;
/// Why Secrets are not compared with profiles.
const STALE: &str = "the profiles could not be listed at the end of the window, so Secrets were not compared";

impl Run<'_> {
    /// Reads it all, one after the other.
    pub(super) async fn after_window(&mut self, asking: MemberPoll) {
        self.secrets().await;
        self.unlabelled_secrets().await;
        self.probe().await;
        self.members(asking).await;
    }

    /// Lists the consumers' Secrets.
    async fn secrets(&mut self) {
        if !self.reads(Kind::Secrets) {
            return;
        }
        if self.is_stale {
            // All evidence of a run is of one moment.
            self.gap(Kind::Secrets, STALE.to_owned());
            return;
        }
        self.progress.phase("reading consumers' Secrets");
        let (client, places) = (&self.client(), self.secret_places());
        let reading = retry(ATTEMPTS, Failure::may_pass, || secrets::secrets(client, &places));
        let read = self.patience.within(self.patience.list, reading).await;
        if let Some(Ok(found)) = self.finished(Kind::Secrets, &self.plan.secrets, read) {
            self.evidence.secrets = found.secrets;
            self.evidence.unreadable.extend(found.unreadable);
        }
    }

    /// Looks in consumers' namespaces for Secrets that lack the label.
    async fn unlabelled_secrets(&mut self) {
        if !self.reads(Kind::UnlabelledSecrets) {
            return;
        }
        let (client, places) = (&self.client(), self.secret_places());
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
            let reading = retry(ATTEMPTS, Failure::may_pass, || {
                secrets::unlabelled(client, namespace)
            });
            let read = self.patience.within(self.patience.list / 2, reading).await;
            match self.finished(Kind::UnlabelledSecrets, &self.plan.secrets, read) {
                Some(Ok(found)) => self.evidence.unlabelled_secrets.extend(found),
                Some(Err(_)) => {}
                None => return,
            }
        }
    }

    /// Tries to change profiles' managers by dry runs.
    async fn probe(&mut self) {
        if !self.reads(Kind::Probe) {
            return;
        }
        self.progress
            .phase("trying dry-run changes of a profile's manager");
        let profiles = self.evidence.inventory();
        let client = &self.client();
        let probing = probe::probe(client, self.clock, &self.target, &self.permissions, profiles);
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
        self.progress.phase("calling the endpoints of profiles");
        let places = self.secret_places();
        let mut client = self.client();
        client.list_timeout = client.list_timeout.min(self.patience.left());
        let from = Sources {
            hub: &client,
            profiles: &[],
            places: &places,
        };
        let again = asking.again(from, self.evidence.inventory());
        if self.unless_stopped(again).await.is_some() {
            let calling = endpoints::call(self.evidence.inventory(), &self.plan.members, self.clock);
            self.evidence.endpoint_calls = self.unless_stopped(calling).await.unwrap_or_default();
        }
        asking.finish(&mut self.evidence);
    }

    /// Notes why a kind of evidence was not read. Returns the outcome if the hub has answered in time.
    fn finished<T>(
        &mut self,
        kind: Kind,
        wish: &Wish,
        read: Result<Result<T, Failure>, Unfinished>,
    ) -> Option<Result<T, Failure>> {
        match &read {
            Ok(Ok(_)) => {}
            Ok(Err(failure)) => self.gap(kind, failure.to_string()),
            Err(Unfinished::Stopped) if *wish != Wish::Asked => {
                self.asked(kind, Asked::No(Unfinished::Stopped.to_string().into()));
            }
            Err(unfinished) => self.gap(kind, unfinished.to_string()),
        }
        read.ok()
    }
}
