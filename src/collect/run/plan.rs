//! The plan of a run.

use std::{path::PathBuf, time::Duration};

use evidence::{
    Claim, Scope,
    api::{Edition, Role},
};

use crate::{
    driver::DriverPlan,
    hub::{permissions::written, wanted::Wish},
    members::Members,
    testbed::TestbedPlan,
};

/// What to collect.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By which documents to judge; goes into the evidence as it is.
    pub claim: Claim,
    /// Which profiles to look at.
    pub scope: Scope,
    /// The API version to read; none: the newest that the hub serves and the suite knows.
    pub api_version: Option<String>,
    /// How long to watch; zero: one look.
    pub observe: Duration,
    /// How long to look on after the window, at most, for faults that are open when it ends; zero: not.
    pub settle: Duration,
    /// Whether to go on although the hub has no profile yet, or the scope names what has no object yet.
    pub wait: bool,
    /// Whether to read the labelled Secrets.
    pub secrets: Wish,
    /// Whether to try dry-run changes of a profile's manager.
    pub probe: Wish,
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
            secrets: Wish::IfAllowed,
            probe: Wish::IfAllowed,
            audit_logs: Vec::new(),
            members: Members::default(),
            driver: None,
            testbed: None,
        }
    }

    /// The id of the run, if it writes to the hub.
    pub(super) fn run_id(&self) -> Option<&str> {
        let driver = self.driver.as_ref().map(|driver| &*driver.run);
        driver.or(self.testbed.as_ref().map(|testbed| &*testbed.run))
    }

    /// The roles that are judged, and to whose objects a driver writes if it `may`.
    pub(super) fn written(&self, may: bool) -> Vec<Role> {
        if !may {
            return Vec::new();
        }
        let mut roles = written(&self.claim);
        if self.stages_placements() {
            // The testbed plays the scheduler, too.
            roles.push(Role::Scheduler);
        }
        roles
    }

    /// Whether decisions are staged for a consumer.
    pub(super) fn stages_placements(&self) -> bool {
        let testbed = self.testbed.as_ref();
        testbed.is_some_and(|testbed| testbed.claims.reads_placements())
    }

    /// The edition by which decisions are read, if they are judged, or staged for a consumer.
    pub(super) fn placements(&self) -> Option<Edition> {
        let staged = self
            .stages_placements()
            .then(|| Role::Scheduler.default_edition());
        self.claim.edition_of(Role::Scheduler).or(staged)
    }
}
