//! Faults of the suite `conditions`.

use std::{sync::Arc, time::Duration};

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED};

use super::fault::FaultInfo;
use crate::{
    manager::{
        driven::Misbehaviour,
        members::{FIRST_TO_JOIN, OUTAGE, QUIET},
        script::{Action, Step, minutes},
        status::{healthy, unready},
        world::World,
    },
    member::Leases,
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "conditions/transition-time-kept",
        "moves a transition time though nothing changed, as a heartbeat",
        |world| {
            for at in [4, 11, 18] {
                world.observe(minutes(at), QUIET, |status, now| {
                    status.alter(CONDITION_HEALTHY, |condition| condition.since = now);
                });
            }
        },
    ),
    FaultInfo::new(
        "conditions/transition-time-moves",
        "keeps the old transition time when a condition changes",
        on_outage,
    ),
    FaultInfo::new(
        "conditions/status-follows-joined:late",
        "fills in a status five minutes after the member joined",
        |world| {
            let full = world.profile(FIRST_TO_JOIN).status.clone();
            let status = &mut world.profile(FIRST_TO_JOIN).status;
            status.kubernetes = None;
            status
                .conditions
                .retain(|condition| condition.kind == CONDITION_JOINED);
            world.observe(minutes(7), FIRST_TO_JOIN, move |status, now| {
                status.kubernetes = full.kubernetes.clone();
                status.conditions.push(healthy(now));
            });
        },
    )
    // The rule of the missing condition has the same grace.
    .also(&["conditions/control-plane-healthy-reported"]),
    FaultInfo::new(
        "conditions/not-flapping",
        "reports each hiccup of a control plane as an outage",
        |world| {
            for turn in 0..10_u32 {
                let at = minutes(4) + Duration::from_secs(10) * turn;
                let fails = turn % 2 == 0;
                world.script.push(Step::happen(at, QUIET, move |member| {
                    member.failing_checks = fails.then(|| "ping".to_owned()).into_iter().collect();
                }));
                world.observe(at, QUIET, move |status, now| {
                    status.report(&if fails { unready("ping", now) } else { healthy(now) });
                });
            }
        },
    ),
    FaultInfo::new(
        "conditions/healthy-agrees-with-member",
        "calls a control plane healthy whose etcd fails",
        |world| {
            world.script.push(Step::happen(minutes(6), QUIET, |member| {
                member.failing_checks.insert("etcd".to_owned());
            }));
        },
    ),
    FaultInfo::new(
        "conditions/healthy-agrees-with-member:leases",
        "calls a control plane healthy whose scheduler stands still",
        |world| {
            world.script.push(Step::happen(minutes(6), QUIET, |member| {
                member.leases = Leases::Stale
            }));
        },
    ),
    FaultInfo::new(
        "conditions/healthy-agrees-with-member:pessimist",
        "never calls a control plane healthy again that failed once",
        |world| {
            let recovers = |step: &Step| {
                step.member == OUTAGE && step.at >= minutes(10) && matches!(step.action, Action::Observe(_))
            };
            world.script.retain(|step| !recovers(step));
        },
    ),
    FaultInfo::new(
        "conditions/healthy-follows-outage",
        "calls every member healthy that it has heard of",
        |world| world.misbehaviours.add(Misbehaviour::IgnoresOutages),
    )
    .driven(),
    FaultInfo::new(
        "conditions/healthy-follows-outage:recovery",
        "does not see that a control plane is up again",
        |world| world.misbehaviours.add(Misbehaviour::IgnoresRecovery),
    )
    .driven(),
    FaultInfo::new(
        "conditions/joined-follows-leave",
        "goes on calling a member joined that has left, for minutes",
        |world| world.misbehaviours.add(Misbehaviour::KeepsJoined),
    )
    .driven(),
    FaultInfo::new(
        "conditions/joined-follows-leave:unchanged",
        "leaves the profile of a member that left as it is for minutes",
        |world| world.misbehaviours.add(Misbehaviour::ForgetsLeave),
    )
    .driven(),
];

/// After the outage and the recovery, the new condition has the transition time of the previous one.
fn on_outage(world: &mut World) {
    let before = world.now;
    for step in world.script.iter_mut().filter(|step| step.member == OUTAGE) {
        if let Action::Observe(change) = &step.action {
            let change = Arc::clone(change);
            step.action = Action::Observe(Arc::new(move |status, now| {
                change(status, now);
                status.alter(CONDITION_HEALTHY, |condition| condition.since = before);
            }));
        }
    }
}
