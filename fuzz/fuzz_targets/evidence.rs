//! An evidence file: read, judged, reported and written again, whatever it holds.
#![no_main]

mod judged;

use evidence::{
    Limits,
    file::{read_from, write_to},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(input) = read_from(data, "fuzz", &Limits::default()) {
        judged::judged(&input.evidence);
        let mut written = Vec::new();
        write_to(&input.evidence, &mut written).expect("a vector takes all");
        let again = read_from(&*written, "fuzz", &Limits::default()).expect("what was written can be read");
        assert_eq!(again.evidence, input.evidence);
    }
});
