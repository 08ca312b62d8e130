//! Runs of the reference consumer on the testbed, under the paused clock.

use std::{collections::BTreeSet, time::Duration};

use collect::{Plan, Quiet, Wish, clock::Clock, collect};
use evidence::{Evidence, Expect, Kind, Published, Scope};
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

/// Checks that all controls were called, and that each expectation can be judged. Returns the number of scenarios.
fn check(evidence: Evidence) -> usize {
    assert_eq!(evidence.gaps, []);
    let testbed = evidence.testbed.expect("a testbed");
    let mut scenarios = testbed.scenarios.iter();
    assert!(scenarios.all(|scenario| scenario.called_at.is_some()));
    assert_eq!(testbed.settle_seconds, Some(10));
    for expectation in &testbed.expectations {
        assert_eq!(expectation.void, None, "{expectation:?}");
        let period = expectation.until.duration_since(expectation.from);
        assert!(period.as_secs() >= 10, "{expectation:?}");
        let mut addresses = testbed.addresses.iter();
        let has_address = addresses.any(|address| address.url == expectation.url);
        assert!(
            has_address || expectation.expect == Expect::NoPluginRun {},
            "{expectation:?}"
        );
    }
    let rules: BTreeSet<&str> = testbed.expectations.iter().map(|one| &*one.rule).collect();
    assert!(rules.len() >= 20, "{rules:?}");
    let mut published = testbed.published.iter();
    assert!(published.any(|one| matches!(one.state, Published::Deleted {})));
    testbed.scenarios.len()
}

#[test]
fn a_consumer_of_profiles_meets_all_scenarios() {
    let habits = Habits {
        finalizes: true,
        ..Habits::default()
    };
    assert_eq!(check(run(habits, None)), 13);
}

#[test]
fn a_consumer_of_decisions_meets_all_scenarios() {
    let habits = Habits {
        reads_placements: true,
        ..Habits::default()
    };
    assert_eq!(check(run(habits, None)), 17);
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
