//! Certificate authorities of the member clusters.

use std::sync::OnceLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};

/// More than the members of any world, with those that faults add.
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
    })[member]
}

/// An expired CA certificate, in the same form.
pub(super) fn expired_ca_data() -> String {
    let mut params = named("lab member CA of long ago");
    params.not_before = date_time_ymd(2010, 1, 1);
    params.not_after = date_time_ymd(2020, 1, 1);
    BASE64_STANDARD.encode(signed(params).0)
}

/// A CA certificate with its private key, in the same form.
pub(super) fn ca_data_with_key() -> String {
    let (certificate, key) = signed(named("lab member CA with its key"));
    BASE64_STANDARD.encode(certificate + &key)
}

/// The certificate of a new CA, for the member of that name: PEM, in base64.
pub(crate) fn new_ca_data(name: &str) -> String {
    let (certificate, _) = signed(named(&format!("lab member {name} CA")));
    BASE64_STANDARD.encode(certificate)
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// The certificate and its key in PEM.
fn signed(params: CertificateParams) -> (String, String) {
    let key = KeyPair::generate().expect("the random source works");
    let certificate = params
        .self_signed(&key)
        .expect("a plain CA certificate can be signed");
    (certificate.pem(), key.serialize_pem())
}
