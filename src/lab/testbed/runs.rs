//! Runs of the reference consumer on the testbed, under the paused clock.

use std::time::Duration;

use collect::{Plan, Quiet, Wish, clock::Clock, collect};
use evidence::{Evidence, Expect, Kind, Published, Scope, Testbed};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    consumer::{Consumer, Habits, hub_definitions},
    hub::Hub,
};

/// Runs the scenarios. The consumer dies after that time, if one is given.
fn run(habits: Habits, dies_after: Option<Duration>) -> Evidence {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions()).await.expect("a hub");
        let consumer = Consumer::with_habits(habits, Vec::new(), clock);
        let admin = hub.admin(Consumer::NAME).expect("a client");
        consumer.set_up(&admin).await.expect("namespaces");
        let client = hub.client_as(Consumer::NAME, Consumer::NAME).expect("a client");
        let testbed = consumer.testbed();
        let plan = Plan {
            scope: Scope {
                namespaces: testbed.namespaces(),
                ..Scope::default()
            },
            secrets: Wish::No("not wanted".into()),
            probe: Wish::No("not wanted".into()),
            testbed: Some(testbed),
            ..Plan::watching(Duration::from_secs(10))
        };
        let running = async {
            tokio::select! {
                ended = consumer.run(client) => panic!("the consumer ended: {ended:?}"),
                () = sleep(dies_after.unwrap_or(Duration::MAX)) => {}
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            evidence = collect(&hub.connection, &plan, clock, &Quiet, CancellationToken::new()) => evidence.expect("evidence"),
            () = running => unreachable!("it does not end"),
        }
    })
}

fn scenario_names(testbed: &Testbed) -> Vec<&str> {
    testbed.scenarios.iter().map(|scenario| &*scenario.name).collect()
}

#[test]
fn all_scenarios_run_and_open_their_expectations() {
    let evidence = run(
        Habits {
            reads_placements: true,
            finalizes: true,
            ..Habits::default()
        },
        None,
    );
    assert_eq!(evidence.gaps, []);
    let testbed = evidence.testbed.expect("a testbed");
    assert!(
        testbed
            .scenarios
            .iter()
            .all(|scenario| scenario.called_at.is_some())
    );
    let names = scenario_names(&testbed);
    assert_eq!(names.len(), 17, "{names:?}");
    assert_eq!(testbed.settle_seconds, Some(10));
    let void: Vec<_> = testbed
        .expectations
        .iter()
        .filter(|one| one.void.is_some())
        .collect();
    assert!(void.is_empty(), "{void:?}");
    let short = testbed
        .expectations
        .iter()
        .filter(|one| one.until.duration_since(one.from).as_secs() < 10);
    assert_eq!(short.collect::<Vec<_>>(), Vec::<&evidence::Expectation>::new());
    let unlisted = testbed.expectations.iter().find(|one| {
        let is_placeless = matches!(one.expect, Expect::NoPluginRun {});
        !is_placeless && testbed.addresses.iter().all(|address| address.url != one.url)
    });
    assert_eq!(unlisted, None);
    let gone = testbed
        .published
        .iter()
        .filter(|one| matches!(one.state, Published::Deleted {}));
    assert!(gone.count() >= 6);
    eprintln!(
        "{} expectations, {} publications",
        testbed.expectations.len(),
        testbed.published.len()
    );
    for one in &testbed.expectations {
        eprintln!(
            "{:50} {:60} {:?} {}..{}",
            one.rule, one.profile.name, one.expect, one.from, one.until
        );
    }
}

#[test]
fn a_dead_consumer_ends_the_run() {
    let evidence = run(Habits::default(), Some(Duration::from_secs(60)));
    let gap = evidence
        .gaps
        .iter()
        .find(|gap| gap.kind == Kind::Testbed)
        .expect("a gap");
    assert!(
        gap.reason
            .to_string()
            .starts_with("the consumer has called no member since"),
        "{gap:?}"
    );
    let testbed = evidence.testbed.expect("a testbed");
    let uncalled = testbed
        .scenarios
        .iter()
        .filter(|scenario| scenario.called_at.is_none());
    assert_eq!(uncalled.count(), 2);
}
