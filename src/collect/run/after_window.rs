//! What a run reads once the window is over: Secrets, the answers to dry runs, and what takes the whole inventory to ask.

use evidence::{Asked, Kind};

use super::{
    patience::Unfinished,
    state::{ATTEMPTS, Run},
};
use crate::{
    connect::{call::retry, failure::Failure},
    hub::{missing::NO_SECRETS, probe, secrets, wanted::Wish},
    members::{Asking, Sources, endpoints},
};

/// In how many consumers' namespaces Secrets without the label are looked for.
const MOST_CONSUMERS: usize = 100;
/// Why Secrets are not compared with profiles.
const STALE: &str = "the profiles could not be listed at the end of the window, so Secrets were not compared";

impl Run<'_> {
    /// Reads it all, one after the other.
    pub(super) async fn after_window(&mut self, asking: Asking) {
        self.secrets().await;
        self.unlabelled_secrets().await;
        self.probe().await;
        self.members(asking).await;
    }

    /// Lists the consumers' Secrets.
    async fn secrets(&mut self) {
        let (asked, places, gap) =
            secrets::asked(&self.plan.secrets, &self.permissions, &self.plan.scope.namespaces);
        self.asked(Kind::Secrets, asked);
        self.evidence.gaps.extend(gap);
        if places.is_empty() {
            return;
        }
        if self.is_stale {
            // All evidence of a run is of one moment.
            self.gap(Kind::Secrets, STALE.to_owned());
            return;
        }
        self.progress.phase("reading consumers' Secrets");
        let client = &self.client();
        let reading = retry(ATTEMPTS, Failure::may_pass, || secrets::secrets(client, &places));
        match self.patience.within(self.patience.list, reading).await {
            Ok(Ok(found)) => {
                self.evidence.secrets = found.secrets;
                self.evidence.unreadable.extend(found.unreadable);
            }
            Ok(Err(failure)) => self.gap(Kind::Secrets, failure.to_string()),
            Err(unfinished) => self.skipped(Kind::Secrets, &self.plan.secrets, unfinished),
        }
    }

    /// Looks in consumers' namespaces for Secrets that lack the label.
    async fn unlabelled_secrets(&mut self) {
        let asked = secrets::unlabelled_asked(&self.plan.secrets);
        let wanted = asked == Asked::Yes;
        self.asked(Kind::UnlabelledSecrets, asked);
        if !wanted {
            return;
        }
        let places = secrets::places(&self.permissions, &self.plan.scope.namespaces);
        let client = &self.client();
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
            match self.patience.within(self.patience.list / 2, reading).await {
                Ok(Ok(found)) => self.evidence.unlabelled_secrets.extend(found),
                Ok(Err(failure)) => self.gap(Kind::UnlabelledSecrets, failure.to_string()),
                Err(unfinished) => {
                    return self.skipped(Kind::UnlabelledSecrets, &self.plan.secrets, unfinished);
                }
            }
        }
    }

    /// Tries to change profiles' managers by dry runs.
    async fn probe(&mut self) {
        let (asked, gap) = probe::asked(&self.plan.probe, &self.permissions, &self.plan.scope.namespaces);
        let wanted = asked == Asked::Yes && gap.is_none();
        self.asked(Kind::Probe, asked);
        self.evidence.gaps.extend(gap);
        if !wanted {
            return;
        }
        self.progress
            .phase("trying dry-run changes of a profile's manager");
        let profiles = self.evidence.inventory();
        let client = &self.client();
        let probing = probe::probe(client, self.clock, &self.target, &self.permissions, profiles);
        match self.patience.within(self.patience.list / 2, probing).await {
            Ok(probes) => self.evidence.probes = probes,
            Err(unfinished) => self.skipped(Kind::Probe, &self.plan.probe, unfinished),
        }
    }

    /// What takes the whole inventory to ask, and what came of it all.
    async fn members(&mut self, mut asking: Asking) {
        if !self.plan.members.are_asked() {
            return;
        }
        self.progress.phase("calling the endpoints of profiles");
        let places = secrets::places(&self.permissions, &self.plan.scope.namespaces);
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
        let seen = asking.finish(&self.evidence.profiles);
        self.evidence.members = seen.members;
        self.evidence.logins = seen.logins;
        self.evidence.gaps.extend(seen.gaps);
    }

    /// Evidence that was not read because the run has ended or the hub took too long.
    fn skipped(&mut self, kind: Kind, wish: &Wish, why: Unfinished) {
        if *wish == Wish::Asked || why != Unfinished::Stopped {
            self.gap(kind, why.to_string());
        } else {
            self.asked(kind, Asked::No(why.to_string().into()));
        }
    }
}
