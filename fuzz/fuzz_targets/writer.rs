//! An entry of managedFields: what was read is written and read again.
#![no_main]

use evidence::api::Writer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(writer) = serde_json::from_slice::<Writer>(data) {
        let written = serde_json::to_vec(&writer).expect("writes");
        assert_eq!(serde_json::from_slice::<Writer>(&written).expect("reads"), writer);
    }
});
