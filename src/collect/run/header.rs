//! The evidence header, as far as it is known before anything is seen.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Asked, FORMAT, Header, Kind, Reason, api::Role};

use super::plan::Plan;
use crate::{
    connect::connection::Connection,
    hub::{missing, target::Target},
};

/// Builds the evidence header, without the window and the permissions.
pub(super) fn header(hub: &Connection, plan: &Plan, target: &Target) -> Header {
    let placements = target.placements.as_ref();
    let mut claim = plan.claim.clone();
    // What the hub does not serve is not judged, unless nothing else is.
    claim.also = claim.also.filter(|_| placements.is_some());
    let mut asked = plan.asked();
    if placements.is_none() {
        asked.remove(&Kind::PlacementDecisions);
        asked.remove(&Kind::PlacementTimeline);
    }
    Header {
        format: FORMAT.to_owned(),
        suite_version: env!("CARGO_PKG_VERSION").to_owned(),
        claim,
        hub: evidence::Hub {
            source: hub.source.clone(),
            server_version: target.server_version.clone(),
            api_version: Some(target.version.clone()),
            served: target.served.clone(),
            placement_version: placements.map(|target| target.version.clone()),
            placement_served: placements.map_or_else(Vec::new, |target| target.served.clone()),
        },
        scope: plan.scope.clone(),
        window: None,
        settled: None,
        read_at: None,
        cut_short: None,
        clock_skew_ms: target.skew.millis(),
        traffic: None,
        permissions: Vec::new(),
        asked,
        other_runs: BTreeSet::new(),
    }
}

impl Plan {
    /// Which kinds of evidence a run asks for, as far as that does not depend on its permissions.
    pub fn asked(&self) -> BTreeMap<Kind, Asked> {
        let yes_if = |given: bool, reason: Reason| if given { Asked::Yes } else { Asked::No(reason) };
        let watches = !self.observe.is_zero();
        let timeline = yes_if(watches, missing::ONE_LOOK);
        let driver = match &self.driver {
            Some(_) => yes_if(watches, missing::NO_WATCH),
            None => Asked::No(missing::NO_DRIVER),
        };
        let mut asked = BTreeMap::from([
            (Kind::Inventory, Asked::Yes),
            (Kind::Timeline, timeline.clone()),
            (
                Kind::Requests,
                yes_if(!self.audit_logs.is_empty(), missing::NO_AUDIT_LOG),
            ),
            (
                Kind::Members,
                yes_if(self.members.are_asked(), missing::NO_MEMBERS),
            ),
            (
                Kind::Plugins,
                yes_if(self.members.plugins.is_some(), missing::NO_PLUGINS),
            ),
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
                asked.insert(kind, yes_if(testbed.is_some(), missing::NO_STAGE));
            }
            let reads = testbed.is_some_and(|testbed| !testbed.outputs.is_empty());
            asked.insert(Kind::Outputs, yes_if(reads, missing::NO_OUTPUTS));
            needs_placements |= self.stages_placements();
        }
        if needs_placements {
            asked.insert(Kind::PlacementDecisions, Asked::Yes);
            asked.insert(Kind::PlacementTimeline, timeline);
        }
        asked
    }
}
