//! A hub's answers: lists, however they are cut, and watches. The first byte tells which.
#![no_main]

use collect::fuzzing;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Builder;

fuzz_target!(|data: &[u8]| match data {
    [0, body @ ..] => {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(fuzzing::watch(body));
    }
    [piece, body @ ..] => fuzzing::list(body, usize::from(*piece)),
    [] => {}
});
