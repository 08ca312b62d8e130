//! Replicas that lead by a Lease.

use std::sync::Mutex;

use collect::{
    connect::Connection,
    lease::{Candidate, INTERVAL, LeaseError, LeaseName},
};
use tokio::time::Instant;

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
    let looking = async {
        for _ in 0..20 {
            sleep(INTERVAL).await;
            assert_eq!(other.attempt().await, Ok(false));
        }
    };
    tokio::select! {
        () = one.keep() => panic!("it leads no longer"),
        () = looking => {}
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
    let short = async {
        world.die();
        after(7).await;
        world.server.misbehave(Misbehaviour::Recover);
        after(100).await;
    };
    tokio::select! {
        () = one.keep() => panic!("it leads no longer"),
        () = short => {}
    }
    world.die();
    let began = Instant::now();
    one.keep().await;
    let kept = began.elapsed().as_secs();
    assert!((8..=10).contains(&kept), "{kept} s");
    assert!(matches!(one.attempt().await, Err(LeaseError::Failed { .. })));
    world.server.misbehave(Misbehaviour::Recover);
    assert_eq!(one.attempt().await, Ok(true));
}

impl World {
    /// Leads as that replica for as long as it may, again and again. Notes when it began and ended, in seconds.
    async fn replica(
        &self,
        name: &'static str,
        began: Instant,
        terms: &Mutex<Vec<(&'static str, f64, f64)>>,
    ) {
        let mut candidate = self.candidate(name);
        loop {
            if candidate.attempt().await == Ok(true) {
                let from = began.elapsed().as_secs_f64();
                candidate.keep().await;
                terms
                    .lock()
                    .expect("no panic")
                    .push((name, from, began.elapsed().as_secs_f64()));
            }
            sleep(INTERVAL).await;
        }
    }
}

/// However late the hub answers, a replica leads no longer before another one does.
#[tokio::test(start_paused = true)]
async fn a_slow_hub_never_has_two_leaders() {
    for millis in [100, 1900, 2500, 3900, 4500, 4990] {
        let world = World::new().await;
        let terms = Mutex::new(Vec::new());
        let began = Instant::now();
        let troubles = async {
            for round in 0..60 {
                world.server.misbehave(Misbehaviour::Delay {
                    affected: Default::default(),
                    by: Duration::from_millis(millis),
                });
                after(3 + round % 11).await;
                if round % 3 == 0 {
                    world.die();
                    after(2 + round % 9).await;
                }
                world.server.misbehave(Misbehaviour::Recover);
                after(round % 7).await;
            }
        };
        tokio::select! {
            () = world.replica("one", began, &terms) => {}
            () = world.replica("other", began, &terms) => {}
            () = troubles => {}
        }
        let terms = terms.into_inner().expect("no panic");
        for (who, from, until) in &terms {
            let meanwhile = terms
                .iter()
                .find(|(other, begins, ends)| other != who && begins < until && ends > from);
            assert_eq!(
                meanwhile, None,
                "while {who} led from {from} to {until}, at {millis} ms"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_bears_that_somebody_labels_its_lease() {
    let world = World::new().await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({
        "metadata": {"name": "monitor", "labels": {"team": "fleet"}},
        "spec": {"leaseTransitions": 6},
    });
    world.create(path, lease).await;
    let mut one = world.candidate("one");
    assert_eq!(one.attempt().await, Ok(true));
    let renewed = async {
        after(20).await;
        // Somebody else changes it between two renewals.
        let labels = json!({"metadata": {"labels": {"team": "other"}}});
        world
            .send(Method::PATCH, &format!("{path}/monitor"), Some(labels))
            .await
            .expect("patched");
        after(60).await;
    };
    tokio::select! {
        () = one.keep() => panic!("it leads no longer"),
        () = renewed => {}
    }
    let lease = world.lease().await;
    assert_eq!(lease["metadata"]["labels"]["team"], "other");
    assert_eq!(lease["spec"]["leaseTransitions"], 6, "it had no holder");
    assert_eq!(lease["spec"]["holderIdentity"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_by_hand_is_made_again() {
    let world = World::new().await;
    let mut one = world.candidate("one");
    assert_eq!(one.attempt().await, Ok(true));
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/monitor";
    let deleted = async {
        after(5).await;
        world.send(Method::DELETE, path, None).await.expect("deleted");
        after(5).await;
        assert_eq!(world.lease().await["spec"]["holderIdentity"], "one");
        // Given away by hand.
        let spec = json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 1}});
        world
            .send(Method::PATCH, path, Some(spec))
            .await
            .expect("patched");
        after(5).await;
        panic!("it leads still");
    };
    tokio::select! {
        () = one.keep() => {}
        () = deleted => {}
    }
    assert_eq!(one.holder().as_deref(), Some("other"));
    after(5).await;
    assert_eq!(
        one.attempt().await,
        Ok(false),
        "others have 15 s whatever the Lease says"
    );
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
