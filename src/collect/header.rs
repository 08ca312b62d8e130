//! What a run says of itself before it has seen anything.

use std::collections::BTreeMap;

use evidence::{Asked, FORMAT, Header, Kind};

use super::{Plan, target::Target};
use crate::connect::Connection;

/// The head of the evidence. The window and the permissions are still to come.
pub(super) fn header(hub: &Connection, plan: &Plan, target: &Target) -> Header {
    let no = |reason: &str| Asked::No(reason.to_owned());
    let timeline = if plan.observe.is_zero() {
        no("`--observe 0s` looks once")
    } else {
        Asked::Yes
    };
    let requests = if plan.audit_logs.is_empty() {
        no("no audit log was given (`--audit-log FILE`)")
    } else {
        Asked::Yes
    };
    let members = if plan.members.are_asked() {
        Asked::Yes
    } else {
        no("no member was asked: give ways to them with `--members FILE` or `--members from-secrets`")
    };
    let plugins = match &plan.members.plugins {
        Some(_) => Asked::Yes,
        None => no("no credential plugin was run (`--provider-file FILE`)"),
    };
    let driver = match &plan.driver {
        None => no("the implementation was not made to act (`--driver FILE`)"),
        Some(_) if plan.observe.is_zero() => no("`--observe 0s` does not see what the implementation does"),
        Some(_) => Asked::Yes,
    };
    Header {
        format: FORMAT.to_owned(),
        suite_version: env!("CARGO_PKG_VERSION").to_owned(),
        claim: plan.claim.clone(),
        hub: evidence::Hub {
            source: hub.source.clone(),
            server_version: target.server_version.clone(),
            api_version: Some(target.version.clone()),
            served: target.served.clone(),
        },
        scope: plan.scope.clone(),
        window: None,
        cut_short: None,
        clock_skew_ms: target.skew.millis(),
        permissions: Vec::new(),
        asked: BTreeMap::from([
            (Kind::Inventory, Asked::Yes),
            (Kind::Timeline, timeline),
            (Kind::Requests, requests),
            (Kind::Members, members),
            (Kind::Plugins, plugins),
            (Kind::Driver, driver),
        ]),
    }
}
