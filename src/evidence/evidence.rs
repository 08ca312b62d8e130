//! All that one run observed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Driver, DriverStep, EndpointCall, Gap, Gaps, Header, Kind, Later, Log, Login, Member, MemberCall,
    Mentions, Namespace, ObjectKey, PluginCall, Probe, ProfileHistory, Reason, ReasonId, Request, Requested,
    Requests, Secret, SliceHistory, Testbed, UnlabelledSecret, Unreadable,
    api::{ClusterProfile, ObjectKind, PlacementDecision},
    runs,
};

/// Everything that one run observed of one hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// The observer, the hub, the time and the permissions.
    pub header: Header,
    /// The namespaces, as last seen.
    pub namespaces: Vec<Namespace>,
    /// The profiles, each with every version seen, in the order of their first appearance.
    pub profiles: Vec<ProfileHistory>,
    /// The slices of decisions, each with every version seen, in the order of their first appearance.
    pub slices: Vec<SliceHistory>,
    /// What was seen after the window of the profiles and slices that the run waited for.
    pub later: Later,
    /// Labelled Secrets, as last seen; never their values.
    pub secrets: Vec<Secret>,
    /// Secrets of consumers' namespaces that hold a kubeconfig and lack the label, as last seen.
    pub unlabelled_secrets: Vec<UnlabelledSecret>,
    /// The hub's answers to dry runs.
    pub probes: Vec<Probe>,
    /// Requests on profiles, from the API server's audit log.
    pub requests: Option<Requests>,
    /// Requests on slices, from the same log.
    pub slice_requests: Option<Requests>,
    /// The suite's own requests on profiles, from the same log. On a testbed they are among `requests`.
    pub own_requests: Vec<Request>,
    /// The suite's own requests on slices, from the same log.
    pub own_slice_requests: Vec<Request>,
    /// The answers of the members that the runner could reach.
    pub members: Vec<Member>,
    /// The endpoints of profiles that the run called.
    pub endpoint_calls: Vec<EndpointCall>,
    /// The credentials that the run tried on their members.
    pub logins: Vec<Login>,
    /// The steps of the implementation's driver.
    pub driver: Option<Driver>,
    /// The testbed on which a consumer was judged.
    pub testbed: Option<Testbed>,
    /// What reached the addresses of the testbed's members.
    pub member_calls: Option<Log<MemberCall>>,
    /// The calls of the recording credential plugin.
    pub plugin_calls: Option<Log<PluginCall>>,
    /// What the consumer said of the testbed, and what it gave away.
    pub mentions: Option<Mentions>,
    /// Evidence that was requested but unavailable.
    pub gaps: Gaps,
    /// Objects that do not fit the shape of their kind.
    pub unreadable: Vec<Unreadable>,
}

/// Evidence that was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// The evidence.
    pub evidence: Evidence,
    /// What the reader should know and no verdict depends on: what was ignored, and how often.
    pub notes: Vec<String>,
}

/// The default for kinds that the header does not mention.
static NEVER: Requested = Requested::No(Reason::new(ReasonId::NotRequested, ""));

impl Evidence {
    /// The last versions of the profiles in scope that still exist.
    pub fn inventory(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.histories().filter_map(ProfileHistory::current)
    }

    /// The last versions of all profiles that still exist, in scope or not: for rules that compare.
    pub fn everyone(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.profiles.iter().filter_map(ProfileHistory::current)
    }

    /// The last versions of all profiles that exist and are not terminating: a terminating one may have a successor.
    pub fn live(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.profiles.iter().filter_map(ProfileHistory::live)
    }

    /// The histories of the profiles in scope, deleted ones included, without those that a conformance run touched.
    pub fn histories(&self) -> impl Iterator<Item = &ProfileHistory> {
        self.profiles
            .iter()
            .filter(|history| self.judges_history(history))
    }

    /// Returns `true` if a history is one of [`Evidence::histories`].
    pub fn judges_history(&self, history: &ProfileHistory) -> bool {
        let mut versions = history.versions.iter();
        versions.any(|version| self.header.scope.holds(&version.object))
            && !self.is_touched(&history.last().metadata.namespace, &history.last().metadata.name)
    }

    /// Returns `true` if the run wrote to or created the profile of that name, or if it is another run's.
    pub fn is_touched(&self, namespace: &str, name: &str) -> bool {
        let holds =
            |keys: &BTreeSet<ObjectKey>| !keys.is_empty() && keys.contains(&ObjectKey::new(namespace, name));
        let driver = self.driver.as_ref();
        driver.is_some_and(|driver| holds(&driver.written_profiles)) || holds(&self.header.other_runs)
    }

    /// Returns `true` if a profile is judged: it is in scope, and no conformance run wrote to it.
    pub fn judges(&self, profile: &ClusterProfile) -> bool {
        let metadata = &profile.metadata;
        self.header.scope.holds(profile) && !self.is_touched(&metadata.namespace, &metadata.name)
    }

    /// The histories of all profiles of that name, in scope or not: for rules on a driver's steps.
    pub fn histories_named(&self, namespace: &str, name: &str) -> impl Iterator<Item = &ProfileHistory> {
        self.profiles.iter().filter(move |history| {
            let metadata = &history.last().metadata;
            *metadata.namespace == *namespace && *metadata.name == *name
        })
    }

    /// Whether objects of that kind were seen in scope, deleted ones included.
    pub fn has_any(&self, kind: ObjectKind) -> bool {
        match kind {
            ObjectKind::ClusterProfile => self.histories().next().is_some(),
            ObjectKind::PlacementDecision => self.slice_histories().next().is_some(),
        }
    }

    /// The last versions of the slices in scope that still exist.
    pub fn slices(&self) -> impl Iterator<Item = &PlacementDecision> {
        self.slice_histories().filter_map(SliceHistory::current)
    }

    /// The driver's actions, in order; none without a driver.
    pub fn driver_steps(&self) -> impl DoubleEndedIterator<Item = &DriverStep> {
        self.driver.iter().flat_map(|driver| &driver.steps)
    }

    /// The histories of the slices in scope, deleted ones included, without those that a conformance run touched.
    pub fn slice_histories(&self) -> impl Iterator<Item = &SliceHistory> {
        self.slices.iter().filter(|history| {
            let metadata = &history.last().metadata;
            let mut versions = history.versions.iter();
            versions.any(|version| self.header.scope.holds_slice(&version.object))
                && !self.is_slice_touched((&metadata.namespace, &metadata.name), [*history])
        })
    }

    /// Returns `true` if the run wrote to or created the slice, or if it is another run's by its name or content.
    pub fn is_slice_touched<'a>(
        &self,
        (namespace, name): (&str, &str),
        histories: impl IntoIterator<Item = &'a SliceHistory>,
    ) -> bool {
        let driver = self.driver.as_ref();
        let testbed = self.testbed.as_ref().map(|testbed| testbed.run.as_str());
        let run = driver.map(|driver| driver.run.as_str()).or(testbed);
        let is_of_other_run = |slice| runs::is_slice_of_other_run(slice, run);
        driver.is_some_and(|driver| {
            !driver.written_slices.is_empty()
                && driver.written_slices.contains(&ObjectKey::new(namespace, name))
        }) || runs::names_other_run(name, run)
            || histories
                .into_iter()
                .any(|history| is_of_other_run(history.first()) || is_of_other_run(history.last()))
    }

    /// The namespace of that name, if it was seen.
    pub fn namespace(&self, name: &str) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.name == name)
    }

    /// Returns `true` if an unreadable object may be of that kind and name. Parts of its identity may be unknown.
    pub fn may_be_unread(&self, kind: &str, name: &str) -> bool {
        let may_be = |actual: &str, expected: &str| actual.is_empty() || actual == expected;
        let mut objects = self.unreadable.iter().map(|unreadable| &unreadable.object);
        objects.any(|object| may_be(&object.kind, kind) && may_be(&object.name, name))
    }

    /// Returns whether evidence of that kind was requested.
    pub fn requested(&self, kind: Kind) -> &Requested {
        self.header.requested.get(&kind).unwrap_or(&NEVER)
    }

    /// The gaps in evidence of that kind.
    pub fn gaps(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        self.gaps.of_kind(kind)
    }

    /// Returns `true` if evidence of that kind was requested and is complete.
    pub fn is_whole(&self, kind: Kind) -> bool {
        matches!(self.requested(kind), Requested::Yes) && self.gaps(kind).next().is_none()
    }
}
