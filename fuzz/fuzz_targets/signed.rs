//! Keys and signatures of reports, whatever they hold. No password is given: scrypt would take all the time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::signed::{Envelope, KeyError, PrivateKey, PublicKey};

fuzz_target!(|data: &[u8]| {
    let _ = Envelope::parse(data);
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(key) = PublicKey::parse(text) {
            assert!(key.id().starts_with("sha256:"));
        }
        let _ = PrivateKey::parse(text, || Err::<String, _>(KeyError::Unknown));
    }
});
