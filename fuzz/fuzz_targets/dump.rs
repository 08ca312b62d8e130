//! A kubectl dump: read, judged and reported, whatever it holds.
#![no_main]

mod judged;

use evidence::{Digester, Limits, dump::read_from};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(input) = read_from(data, "fuzz", &Digester::new([7; 32]), &Limits::default()) {
        judged::judged(&input.evidence);
    }
});
