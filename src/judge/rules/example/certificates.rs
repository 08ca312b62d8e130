//! Certificates of authorities for examples. They are fixed, so that the same text always gives the same evidence.
//! Their private keys no longer exist.

use base64::{Engine, prelude::BASE64_STANDARD};

/// Valid from 2020 to 2040: examples happen in 2026.
const CURRENT: &str = concat!(
    "MIIBLDCB0qADAgECAgEBMAoGCCqGSM49BAMCMBUxEzARBgNVBAMMCmN1cnJlbnQgQ0EwHhcNMjAwMTAxMDAwMDAwWhcNNDAwMTAx",
    "MDAwMDAwWjAVMRMwEQYDVQQDDApjdXJyZW50IENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtvlxP7juFnhuQsrEwFlTVr7U",
    "+vu8vAa++cFJg2h5KzSG39N/hKYDt1JybxNa7nrgthD8GY0+oSnKROUkGd6NTKMTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjO",
    "PQQDAgNJADBGAiEAvXGMTG835uoMRKZ6XDWvoh6tBP7VlIUM8Ad1WeN8+JgCIQCZev2xbrWoyFauhvckpQxXBDOElFlh6qpYD2Hn",
    "avI3xQ==",
);

/// Valid from 2015 to 2025.
const EXPIRED: &str = concat!(
    "MIIBLDCB0qADAgECAgEBMAoGCCqGSM49BAMCMBUxEzARBgNVBAMMCmV4cGlyZWQgQ0EwHhcNMTUwMTAxMDAwMDAwWhcNMjUwMTAx",
    "MDAwMDAwWjAVMRMwEQYDVQQDDApleHBpcmVkIENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEntNUuF2p1kj4TYjAxeUvj7NN",
    "KjaXiVvzwG4IPbs1MdwM+Sgl+4ahT2/Seakk+Oj4iEZpVb7Vl75daIA+t5TC56MTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjO",
    "PQQDAgNJADBGAiEA4cEVfCPn2BHfNS7BVyomeF6fS6CWn3ZGMfTJ5Y+xNKICIQClsZ8wFy6FVjJPzkcd/aGW4Pg+atUoJxOF7RHj",
    "Pd/qPg==",
);

/// Valid from 2030 to 2040.
const FUTURE: &str = concat!(
    "MIIBKDCB0KADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWZ1dHVyZSBDQTAeFw0zMDAxMDEwMDAwMDBaFw00MDAxMDEw",
    "MDAwMDBaMBQxEjAQBgNVBAMMCWZ1dHVyZSBDQTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABN94eIZXPgQ305qUgULC35HhjKrN",
    "RB0wYzaG2io+OigQlovbki+ZvlxpmAlBv1sd37Hvpw3YGx6IymSYRLey0UijEzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0E",
    "AwIDRwAwRAIgf12cGLluXTn/aOlrdBRJcTpA3HCmEWxUVx4SnUQMEbACIBqi/gFRFOfcr9jNaoDcb3lYUPYLqJ1fuo9kXY40uaGj",
);

/// The `certificate-authority-data` with these certificates, joined by `+` as in `expired + current`; none for an
/// unknown name.
pub(super) fn ca_data(names: &str) -> Option<String> {
    let bundle: Option<String> = names.split('+').map(|name| pem(name.trim())).collect();
    Some(BASE64_STANDARD.encode(bundle?))
}

fn pem(name: &str) -> Option<String> {
    let der = match name {
        "current" => CURRENT,
        "expired" => EXPIRED,
        "future" => FUTURE,
        _ => return None,
    };
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = der;
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.extend([line, "\n"]);
        rest = after;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    Some(pem)
}
