//! Certificate authorities of the member clusters.

use std::sync::OnceLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};

/// More than the members of the fleet. Those that faults add share them.
const AUTHORITIES: usize = 24;

/// The CA certificate of the member with this number: PEM, in base64 as in a kubeconfig.
///
/// The certificates are made once per process: a test binary plays many worlds.
pub(super) fn ca_data(member: usize) -> &'static str {
    static MADE: OnceLock<Vec<String>> = OnceLock::new();
    &MADE.get_or_init(|| {
        (0..AUTHORITIES)
            .map(|number| new_ca_data(&number.to_string()))
            .collect()
    })[member % AUTHORITIES]
}

/// The certificate of a new CA, for the member of that name: PEM, in base64.
pub(crate) fn new_ca_data(name: &str) -> String {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, format!("lab member {name} CA"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("the random source works");
    let certificate = params
        .self_signed(&key)
        .expect("a plain CA certificate can be signed");
    BASE64_STANDARD.encode(certificate.pem())
}
