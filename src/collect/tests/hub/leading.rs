//! Replicas that lead by a Lease.

use collect::{
    connect::Connection,
    lease::{Candidate, INTERVAL, LeaseError, LeaseName},
};

use super::*;

impl World {
    fn candidate(&self, identity: &str) -> Candidate {
        let lease: LeaseName = "default/monitor".parse().expect("a name");
        Candidate::new(&self.hub.connection, self.clock, lease, identity.to_owned())
    }

    async fn lease(&self) -> Value {
        let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/monitor";
        self.send(Method::GET, path, None).await.expect("a Lease")
    }
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_follows_when_it_ends() {
    let world = World::new().await;
    let (mut one, mut other) = (world.candidate("one"), world.candidate("other"));
    assert_eq!(one.attempt().await, Ok(true));
    assert_eq!(other.attempt().await, Ok(false));
    assert_eq!(other.holder().as_deref(), Some("one"));
    // A lease that is renewed never ends.
    for _ in 0..20 {
        sleep(INTERVAL).await;
        assert_eq!(one.attempt().await, Ok(true));
        assert_eq!(other.attempt().await, Ok(false));
    }
    // Its holder is killed.
    let mut waited = 0;
    while other.attempt().await == Ok(false) {
        sleep(INTERVAL).await;
        waited += INTERVAL.as_secs();
    }
    assert!((14..=18).contains(&waited), "{waited} s");
    assert_eq!(one.attempt().await, Ok(false));
    let lease = world.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "other");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_taken_at_once() {
    let world = World::new().await;
    let (mut one, mut other) = (world.candidate("one"), world.candidate("other"));
    assert_eq!(one.attempt().await, Ok(true));
    assert_eq!(other.attempt().await, Ok(false));
    one.release().await;
    assert_eq!(other.attempt().await, Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_holder_bears_a_short_outage_and_no_long_one() {
    let world = World::new().await;
    let mut one = world.candidate("one");
    assert_eq!(one.attempt().await, Ok(true));
    world.die();
    after(8).await;
    assert_eq!(one.attempt().await, Ok(true));
    after(3).await;
    assert!(matches!(one.attempt().await, Err(LeaseError::Failed { .. })));
    world.server.misbehave(Misbehaviour::Recover);
    assert_eq!(one.attempt().await, Ok(true));
}

#[tokio::test(start_paused = true)]
async fn what_forbids_a_lease_names_the_grant() {
    let world = World::new().await;
    let viewer = Connection::new(world.server.client("viewer"), "lab");
    let lease: LeaseName = "default/monitor".parse().expect("a name");
    let mut candidate = Candidate::new(&viewer, world.clock, lease, "one".to_owned());
    let refused = candidate.attempt().await.expect_err("it may not");
    assert!(refused.is_lasting());
    let told = refused.to_string();
    for part in [
        "default/monitor",
        "coordination.k8s.io",
        "verbs: [get, update]",
        "verbs: [create]",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let nowhere: LeaseName = "nowhere/monitor".parse().expect("a name");
    let mut candidate = Candidate::new(&world.hub.connection, world.clock, nowhere, "one".to_owned());
    let refused = candidate.attempt().await.expect_err("there is no namespace");
    assert!(
        refused.is_lasting() && refused.to_string().contains("its namespace does not exist"),
        "{refused}"
    );
}
