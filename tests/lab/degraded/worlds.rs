//! The worlds: what the lab does, and the whole record of it.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use evidence::{
    Evidence, Kind, ObjectKey,
    api::{Edition, Role},
};
use judge::{RuleVerdict, Selection, judge, rules::find};
use lab::fault::faults;

use crate::reference_runs::{observe_manager, observe_scheduler};

/// What one rule says of a record.
pub type Verdicts = BTreeMap<&'static str, RuleVerdict>;

/// What the lab does.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    pub role: Role,
    pub edition: Edition,
    /// None for an honest implementation.
    pub fault: Option<&'static str>,
    is_driven: bool,
    /// The further flags of the run.
    flags: &'static [&'static str],
}

/// What the lab did, the whole record of it, and what is judged of that.
pub struct World {
    pub plot: Plot,
    pub whole: Evidence,
    pub verdicts: Verdicts,
}

/// All that may be played: honest implementations first, and then each fault.
pub fn plots() -> Vec<Plot> {
    let mut plots = Vec::new();
    for role in [Role::Manager, Role::Scheduler] {
        for (edition, is_driven) in role
            .editions()
            .flat_map(|edition| [(edition, true), (edition, false)])
        {
            plots.push(Plot {
                role,
                edition,
                fault: None,
                is_driven,
                flags: &[],
            });
        }
    }
    plots.extend(faults(Role::Manager).map(|fault| Plot {
        role: Role::Manager,
        edition: fault.edition,
        fault: Some(fault.id),
        is_driven: fault.needs_driver,
        flags: &fault.flags,
    }));
    plots.extend(faults(Role::Scheduler).map(|fault| Plot {
        role: Role::Scheduler,
        edition: fault.edition,
        fault: Some(fault.id),
        is_driven: find(fault.rule()).is_some_and(|rule| rule.facts.needs.contains(&Kind::Driver)),
        flags: &fault.flags,
    }));
    plots
}

/// Plays them on all cores.
pub fn play_all(plots: &[Plot]) -> Vec<World> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let play_some = || {
        let mut worlds = Vec::new();
        while let Some(plot) = plots.get(next.fetch_add(1, Ordering::Relaxed)) {
            worlds.push(plot.play());
        }
        worlds
    };
    thread::scope(|scope| {
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(play_some)).collect();
        let played = players.into_iter().map(|player| player.join());
        played.flat_map(|played| played.expect("no panic")).collect()
    })
}

impl Plot {
    fn play(self) -> World {
        let whole = match self.role {
            Role::Manager => {
                let fault = self.fault.map(|fault| format!("reference={fault}"));
                let manager = fault.as_deref().unwrap_or("reference");
                observe_manager(self.edition, manager, self.is_driven, self.flags).evidence
            }
            Role::Scheduler => observe_scheduler(self.edition, self.fault.as_slice(), self.is_driven),
            Role::Consumer => unreachable!("it is not played here"),
        };
        World {
            plot: self,
            verdicts: judged(&whole),
            whole,
        }
    }
}

/// What is judged of a record.
pub fn judged(record: &Evidence) -> Verdicts {
    let verdicts = judge(record, &Selection::default()).verdicts.into_iter();
    verdicts.map(|verdict| (verdict.rule.id, verdict)).collect()
}

/// The key of an object that a finding names.
pub fn key(object: &evidence::ObjectRef) -> (String, ObjectKey) {
    (object.kind.clone(), ObjectKey::from(object))
}
