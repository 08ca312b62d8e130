//! Text in which credentials are looked for: the name of a field in its first line, the value behind it.
#![no_main]

use evidence::{leak::leaks_under, redact::without_credentials};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let (key, text) = data.split_once('\n').unwrap_or(("", data));
    for leak in leaks_under(key, text) {
        assert!(leak.length > 0 && leak.length <= text.len());
    }
    without_credentials(text);
});
