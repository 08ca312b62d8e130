//! A stream that never rests. By the machine's clock: the simulated one stands still meanwhile.

use std::time::Duration;

use collect::connect::Connection;
use tokio::time::resume;

use super::{
    check,
    fault::{Act, Fault, On},
    honest,
    world::{Manager, World, runtime},
};

/// Seconds of observation.
const OBSERVE: u64 = 1;

#[test]
fn a_stream_that_never_rests_does_not_keep_the_run_from_its_end() {
    let faults = [
        Fault::always(On::Stream, Act::Code(422, None)),
        Fault::always(On::Resume, Act::Floods),
    ];
    let honest = honest(Manager::Leaking, OBSERVE);
    let outcome = runtime().block_on(async {
        let world = World::new(Manager::Leaking).await;
        let (client, seen) = world.proxied(&faults);
        let hub = Connection::new(client, "lab");
        resume();
        let window = Duration::from_secs(OBSERVE);
        world.observe(&hub, window, &faults, &seen).await
    });
    check(&honest, &faults, OBSERVE, &outcome).expect("it is a run like others");
    assert!(!outcome.verdicts.is_empty(), "{}", outcome.outputs);
}
