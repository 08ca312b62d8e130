//! An audit log: lines of events or of lists of them, packed or not.
#![no_main]

use collect::requests::{merge_into, read_audit_text};
use evidence::{Evidence, Window};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(log) = read_audit_text("log", data) {
        let covers = log.requests.covers;
        // A window that the log does not wholly cover.
        let mut evidence = Evidence::default();
        evidence.header.window = Some(Window {
            from: covers.until,
            until: covers.from,
        });
        merge_into(&mut evidence, log);
    }
});
