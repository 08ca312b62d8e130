//! What is staged, scene by scene: each publishes profiles that ask something of a consumer. A control follows.
//!
//! * `access`: which provider, which server, which authority, which way;
//! * `inventory`: which profiles are the consumer's, and what else they may say; `duplicates`: several of one member;
//! * `arguments`: what profiles add to a run of the plugin;
//! * `changes`: where access moves, stays, or ends;
//! * `placements`: which profiles decisions name, for a consumer that reads those;
//! * `failures`: what cannot be used;
//! * `away`: what changes while the consumer is stopped, or does not reach the hub; `uninstall`: what it leaves behind.

mod access;
mod arguments;
mod away;
mod changes;
mod duplicates;
mod failures;
mod inventory;
mod placements;
mod uninstall;

use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
pub(super) use uninstall::uninstall;

use super::{TestbedPlan, session::Session};

/// A provider that no consumer has a plugin for.
const UNKNOWN: &str = "unknown.conformance.example";

/// A scene.
pub(super) struct SceneOf {
    /// Its name.
    pub name: &'static str,
    /// Publishes its profiles.
    pub play: for<'s> fn(&'s Session<'_>) -> BoxFuture<'s, ()>,
    /// Whether it is played by this plan.
    pub is_asked: fn(&TestbedPlan) -> bool,
    /// How many times what the consumer may take it lasts, at least.
    pub settles: u32,
    /// Whether it may hold up a consumer that does one thing after the other.
    pub hinders: bool,
    /// The hooks without which it is left out. It needs a consumer that still runs, too.
    pub hooks: &'static [DriverAction],
}

/// All scenes, in their order: what may end a consumer comes last.
pub(super) const SCENES: &[SceneOf] = &[
    scene("access", |session| access::access(session).boxed()),
    scene("ways", |session| access::ways(session).boxed()),
    scene("inventory", |session| inventory::inventory(session).boxed()),
    scene("duplicates", |session| duplicates::duplicates(session).boxed()),
    scene("arguments", |session| arguments::arguments(session).boxed()),
    scene("address", |session| changes::address(session).boxed()),
    scene("heartbeats", |session| changes::heartbeats(session).boxed()),
    scene("ends", |session| changes::ends(session).boxed()),
    placements("slices", |session| placements::slices(session).boxed()),
    placements("references", |session| placements::references(session).boxed()),
    placements("follows", |session| placements::follows(session).boxed()),
    placements("withdrawn", |session| placements::withdrawn(session).boxed()),
    SceneOf {
        // The consumer has to do with each of them first.
        settles: 2,
        hinders: true,
        ..scene("failing", |session| failures::failing(session).boxed())
    },
    SceneOf {
        settles: 2,
        ..scene("malformed", |session| failures::malformed(session).boxed())
    },
    SceneOf {
        // It begins with all profiles anew.
        hinders: true,
        hooks: away::HOOKS,
        ..scene("restart", |session| away::restart(session).boxed())
    },
    SceneOf {
        hooks: away::HOOKS,
        ..scene("restarted", |session| away::restarted(session).boxed())
    },
];

/// The last scene, where it is needed: with nothing but a control.
pub(super) const END: SceneOf = scene("end", |_| std::future::ready(()).boxed());

const fn scene(name: &'static str, play: for<'s> fn(&'s Session<'_>) -> BoxFuture<'s, ()>) -> SceneOf {
    SceneOf {
        name,
        play,
        is_asked: |_| true,
        settles: 1,
        hinders: false,
        hooks: &[],
    }
}

/// A scene for a consumer that reads decisions.
const fn placements(name: &'static str, play: for<'s> fn(&'s Session<'_>) -> BoxFuture<'s, ()>) -> SceneOf {
    SceneOf {
        is_asked: |plan| plan.claims.reads_placements(),
        ..scene(name, play)
    }
}
