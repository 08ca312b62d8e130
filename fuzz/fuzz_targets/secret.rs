//! A consumer's Secret, and the kubeconfig in it.
#![no_main]

use evidence::Digester;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    let digester = Digester::new([7; 32]);
    if let Ok(secret) = serde_json::from_slice::<Value>(data) {
        let _ = digester.secret(&secret);
    }
    let kubeconfig = String::from_utf8_lossy(data);
    let secret = digester.secret(&json!({"metadata": {"name": "s"}, "stringData": {"Config": kubeconfig}}));
    assert!(secret.is_ok());
});
