//! Certificates of authorities for examples. They are fixed, so that the same text always gives the same evidence.
//! Their private keys no longer exist.

use base64::{Engine, prelude::BASE64_STANDARD};

/// The `certificate-authority-data` with these certificates, joined by `+` as in `expired + current`; none for an
/// unknown name.
pub(super) fn ca_data(names: &str) -> Option<String> {
    let bundle: Option<String> = names.split('+').map(|name| pem(name.trim())).collect();
    Some(BASE64_STANDARD.encode(bundle?))
}

/// Examples happen in 2026.
fn pem(name: &str) -> Option<&'static str> {
    match name {
        // Valid from 2020 to 2040.
        "current" => Some(include_str!("certificates/current.pem")),
        // Valid from 2015 to 2025.
        "expired" => Some(include_str!("certificates/expired.pem")),
        // Valid from 2030 to 2040.
        "future" => Some(include_str!("certificates/future.pem")),
        _ => None,
    }
}
