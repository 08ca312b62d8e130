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
        let no = Asked::No;
        let yes_if = |given: bool, reason: Reason| if given { Asked::Yes } else { no(reason) };
        let timeline = if self.observe.is_zero() {
            no(missing::ONE_LOOK)
        } else {
            Asked::Yes
        };
        let requests = if self.audit_logs.is_empty() {
            no(missing::NO_AUDIT_LOG)
        } else {
            Asked::Yes
        };
        let members = if self.members.are_asked() {
            Asked::Yes
        } else {
            no(missing::NO_MEMBERS)
        };
        let plugins = match &self.members.plugins {
            Some(_) => Asked::Yes,
            None => no(missing::NO_PLUGINS),
        };
        let driver = match &self.driver {
            None => no(missing::NO_DRIVER),
            Some(_) if self.observe.is_zero() => no(missing::NO_WATCH),
            Some(_) => Asked::Yes,
        };
        let mut asked = BTreeMap::from([
            (Kind::Inventory, Asked::Yes),
            (Kind::Timeline, timeline),
            (Kind::Requests, requests),
            (Kind::Members, members),
            (Kind::Plugins, plugins),
            (Kind::Driver, driver),
        ]);
        if self.claim.edition_of(Role::Consumer).is_some() {
            let staged = yes_if(self.testbed.is_some(), missing::NO_STAGE);
            for kind in [
                Kind::Testbed,
                Kind::MemberCalls,
                Kind::PluginCalls,
                Kind::Mentions,
            ] {
                asked.insert(kind, staged.clone());
            }
            if self.stages_placements() {
                let timeline = asked[&Kind::Timeline].clone();
                asked.insert(Kind::PlacementDecisions, Asked::Yes);
                asked.insert(Kind::PlacementTimeline, timeline);
            }
            let reads = self
                .testbed
                .as_ref()
                .is_some_and(|testbed| !testbed.outputs.is_empty());
            asked.insert(Kind::Outputs, yes_if(reads, missing::NO_OUTPUTS));
        }
        if self.claim.edition_of(Role::Scheduler).is_some() {
            let timeline = asked[&Kind::Timeline].clone();
            asked.extend([
                (Kind::PlacementDecisions, Asked::Yes),
                (Kind::PlacementTimeline, timeline),
            ]);
        }
        asked
    }
}
