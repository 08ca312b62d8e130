//! The plan of a run, and the evidence header that follows from it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use evidence::{
    Claim, FORMAT, Header, Kind, Reason, Requested, Scope,
    api::{Edition, Role},
};

use crate::{
    driver::DriverPlan,
    hub::{
        EvidenceRequest, HubTarget, NO_AUDIT_LOG, NO_DRIVER, NO_MEMBERS, NO_OUTPUTS, NO_PLUGINS, NO_TESTBED,
        NO_WATCH, SINGLE_SNAPSHOT,
    },
    members::Members,
    testbed::TestbedPlan,
};

/// What to collect.
#[derive(Clone)]
pub struct Plan {
    /// By which documents to judge; goes into the evidence as it is.
    pub claim: Claim,
    /// Which profiles to judge.
    pub scope: Scope,
    /// The API version to read; none: the newest that the hub serves and the suite knows.
    pub api_version: Option<String>,
    /// How long to watch; zero: a single snapshot.
    pub observe: Duration,
    /// How long to watch after the window, at most, for violations that are open when it ends; zero: not at all.
    pub settle: Duration,
    /// Whether to go on although the hub has no profile yet, or the scope names what has no object yet.
    pub wait: bool,
    /// Whether to read the labelled Secrets.
    pub secrets: EvidenceRequest,
    /// Whether to try dry-run changes of a profile's manager.
    pub probe: EvidenceRequest,
    /// The API server's audit logs, which are read elsewhere: here they only count as asked for.
    pub audit_logs: Vec<PathBuf>,
    /// Which members to ask themselves.
    pub members: Members,
    /// What the implementation is to be made to do; none: nothing. Its answers are seen by the watch, without which
    /// nothing is done.
    pub driver: Option<DriverPlan>,
    /// The testbed for a consumer; none: no consumer is judged.
    pub testbed: Option<TestbedPlan>,
}

impl Plan {
    /// Watches all profiles for that long, reads what the hub lets the run read, and does nothing else.
    pub fn watching(observe: Duration) -> Self {
        Self {
            claim: Claim::default(),
            scope: Scope::default(),
            api_version: None,
            observe,
            settle: Duration::ZERO,
            wait: true,
            secrets: EvidenceRequest::IfAllowed,
            probe: EvidenceRequest::IfAllowed,
            audit_logs: Vec::new(),
            members: Members::default(),
            driver: None,
            testbed: None,
        }
    }

    pub(super) fn run_id(&self) -> Option<&str> {
        let driver = self.driver.as_ref().map(|driver| &*driver.run);
        driver.or(self.testbed.as_ref().map(|testbed| &*testbed.run))
    }

    /// The roles that are judged, and to whose objects a driver writes if it `may`.
    pub(super) fn written(&self, may: bool) -> Vec<Role> {
        if !may {
            return Vec::new();
        }
        let mut roles: Vec<Role> = self.claim.roles().collect();
        if self.stages_placements() {
            // The testbed plays the scheduler, too.
            roles.push(Role::Scheduler);
        }
        roles
    }

    pub(super) fn stages_placements(&self) -> bool {
        let testbed = self.testbed.as_ref();
        testbed.is_some_and(|testbed| testbed.claims.reads_placements())
    }

    /// The edition by which decisions are read, if they are judged, or published for a consumer.
    pub(super) fn placements(&self) -> Option<Edition> {
        let published = self
            .stages_placements()
            .then(|| Role::Scheduler.default_edition());
        self.claim.edition_of(Role::Scheduler).or(published)
    }
}

/// Builds the evidence header, without the window and the permissions.
pub(super) fn header(plan: &Plan, target: &HubTarget) -> Header {
    let has_placements = target.has_placements();
    let mut claim = plan.claim.clone();
    // What the hub does not serve is not judged, unless nothing else is.
    claim.also = claim.also.filter(|_| has_placements);
    let mut requested = plan.requested();
    if !has_placements {
        requested.remove(&Kind::PlacementDecisions);
        requested.remove(&Kind::PlacementTimeline);
    }
    Header {
        format: FORMAT.to_owned(),
        suite_version: env!("CARGO_PKG_VERSION").to_owned(),
        claim,
        hub: target.hub.clone(),
        scope: plan.scope.clone(),
        clock_skew_ms: target.skew.millis(),
        requested,
        ..Header::default()
    }
}

impl Plan {
    /// Which kinds of evidence a run asks for, if that does not depend on its permissions.
    pub fn requested(&self) -> BTreeMap<Kind, Requested> {
        let yes_if = |on: bool, reason: Reason| if on { Requested::Yes } else { Requested::No(reason) };
        let watches = !self.observe.is_zero();
        let timeline = yes_if(watches, SINGLE_SNAPSHOT);
        let driver = match &self.driver {
            Some(_) => yes_if(watches, NO_WATCH),
            None => Requested::No(NO_DRIVER),
        };
        let mut requested = BTreeMap::from([
            (Kind::Inventory, Requested::Yes),
            (Kind::Timeline, timeline.clone()),
            (Kind::Requests, yes_if(!self.audit_logs.is_empty(), NO_AUDIT_LOG)),
            (Kind::Members, yes_if(self.members.are_asked(), NO_MEMBERS)),
            (Kind::Plugins, yes_if(self.members.plugins.is_some(), NO_PLUGINS)),
            (Kind::Driver, driver),
        ]);
        let mut needs_placements = self.claim.edition_of(Role::Scheduler).is_some();
        if self.claim.edition_of(Role::Consumer).is_some() {
            let testbed = self.testbed.as_ref();
            for kind in [
                Kind::Testbed,
                Kind::MemberCalls,
                Kind::PluginCalls,
                Kind::Mentions,
            ] {
                requested.insert(kind, yes_if(testbed.is_some(), NO_TESTBED));
            }
            let reads = testbed.is_some_and(|testbed| !testbed.outputs.is_empty());
            requested.insert(Kind::Outputs, yes_if(reads, NO_OUTPUTS));
            needs_placements |= self.stages_placements();
        }
        if needs_placements {
            requested.insert(Kind::PlacementDecisions, Requested::Yes);
            requested.insert(Kind::PlacementTimeline, timeline);
        }
        requested
    }
}
