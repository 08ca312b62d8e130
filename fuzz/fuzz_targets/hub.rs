//! A hub's answers: lists and watches. The first byte says which.
#![no_main]

use collect::fuzzing;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Builder;

fuzz_target!(|data: &[u8]| {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    match data {
        [0, body @ ..] => runtime.block_on(fuzzing::watch(body)),
        [_, body @ ..] => runtime.block_on(fuzzing::list(body)),
        [] => {}
    }
});
