//! Two runs at the same time on one hub.

use judge::{Selection, Verdict, judge};

use super::*;

/// The plan of a run with that id, with members enough to be in the way of others.
fn plan_of(run: &str, manager: &Manager) -> Plan {
    let mut plan = driving(manager);
    driver_of(&mut plan).run = run.to_owned();
    plan
}

/// The rules that a run blames the manager for.
fn blamed(evidence: &Evidence) -> Vec<&'static str> {
    let judgement = judge(evidence, &Selection::default());
    let verdicts = judgement.verdicts.iter();
    let blamed = verdicts.filter(|each| matches!(each.verdict, Verdict::Fail | Verdict::Warn));
    blamed.map(|each| each.rule.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_leaves_out_the_objects_of_another_run() {
    let world = World::new().await;
    let manager = Manager::new(&world, Habits::default()).await;
    let (first, second) = (plan_of("h2j4k", &manager), plan_of("l5m6n", &manager));
    let runs = async {
        let alone = drive(&world, &plan_of("bcdfg", &manager), future::pending()).await;
        // The second one has members leave while the first one restarts the manager.
        let later = async {
            after(45).await;
            drive(&world, &second, future::pending()).await
        };
        let (first, second) = futures::join!(drive(&world, &first, future::pending()), later);
        (alone, [first, second])
    };
    let (alone, both) = select! {
        seen = runs => seen,
        never = manager.life.live() => match never {},
    };
    let alone = blamed(&alone.evidence);
    for seen in &both {
        let evidence = &seen.evidence;
        assert_eq!(blamed(evidence), alone);
        let driver = evidence.driver.as_ref().expect("a driver");
        seen.assert_done();
        // Members of the other one, and what it put next to them.
        let others = &evidence.header.other_runs;
        assert!(others.len() > 8, "{others:?}");
        let mut judged = evidence.histories().map(|history| &history.last().metadata.name);
        let other = if driver.run == "h2j4k" { "l5m6n" } else { "h2j4k" };
        assert!(judged.all(|name| !name.contains(other)));
        let [warning] = &seen.warnings[..] else {
            panic!("{:?}", seen.warnings)
        };
        let left_out = "profiles of other conformance runs are not judged: ";
        assert!(warning.starts_with(left_out), "{warning}");
    }
    // A run that does not know of the second one would blame the manager for its members.
    let mut unaware = both[0].evidence.clone();
    unaware.header.other_runs.clear();
    let wrongly = blamed(&unaware);
    assert!(
        wrongly.contains(&"lifecycle/restart-keeps-profiles"),
        "{wrongly:?}"
    );
}
