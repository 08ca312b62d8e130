//! The API server's certificate, its authority, and the key that signs service-account tokens.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Certificates and keys in PEM, made anew for each server.
pub(crate) struct Certificates {
    /// What clients trust.
    pub authority: String,
    /// The same certificate in DER, for kube's configuration.
    pub authority_der: Vec<u8>,
    /// The server's certificate, for 127.0.0.1, ::1 and localhost.
    pub serving: String,
    pub serving_key: String,
    /// Signs service-account tokens.
    pub service_account_key: String,
    /// Verifies them.
    pub service_account_public_key: String,
}

impl Certificates {
    pub fn generate() -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority
            .distinguished_name
            .push(DnType::CommonName, "envtest authority");
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);

        let names = ["127.0.0.1", "::1", "localhost"].map(str::to_owned);
        let mut serving = CertificateParams::new(names)?;
        serving
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        serving.use_authority_key_identifier_extension = true;
        serving.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let serving_key = KeyPair::generate()?;

        let service_account_key = KeyPair::generate()?;
        Ok(Self {
            authority: authority_certificate.pem(),
            authority_der: authority_certificate.der().to_vec(),
            serving: serving.signed_by(&serving_key, &issuer)?.pem(),
            serving_key: serving_key.serialize_pem(),
            service_account_key: service_account_key.serialize_pem(),
            service_account_public_key: service_account_key.public_key_pem(),
        })
    }
}
