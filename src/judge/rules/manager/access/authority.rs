//! Certificate authorities of access providers.

use evidence::api::{Cluster, ClusterProfile};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::{certificate::X509CertificateParser, nom::Parser as _};

use super::providers::{effective_entries, entries_with};
use crate::{
    engine::{Answer, CLOCKS_APART, Hub, Seen},
    shared::base64::decode,
    time::{Micros, SECOND, timestamp},
};

const DATA: &str = ".cluster.certificate-authority-data";

/// `access/ca-data-is-certificates`
///
/// The CA data of an access provider decode to PEM with at least one certificate.
pub(in crate::rules) fn ca_data_is_certificates(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(entries_with(profile, ca_data), |(entry, data)| {
        let pem = decode(data);
        let has_certificate = pem.as_deref().is_some_and(|pem| validities(pem).next().is_some());
        Answer::broken_if(!has_certificate, || {
            entry
                .finding(DATA, "certificate-authority-data contains no certificate")
                .expected("base64 of PEM with at least one X.509 certificate")
                .observed(match pem {
                    Some(pem) => format!("{} bytes without a certificate", pem.len()),
                    None => format!("{} bytes that are not base64", data.len()),
                })
        })
    })
}

/// `access/ca-data-current`
///
/// At least one certificate of each CA bundle is valid.
pub(in crate::rules) fn ca_data_current(profile: &ClusterProfile, seen: Seen, _: &Hub) -> Answer {
    let Some(now) = seen.hub_time() else {
        return Answer::NotApplicable;
    };
    Answer::each(entries_with(profile, ca_data), |(entry, data)| {
        let pem = decode(data).unwrap_or_default();
        let Some(newest) = validities(&pem).max_by_key(|validity| validity.until) else {
            return Answer::NotApplicable;
        };
        Answer::broken_if(!validities(&pem).any(|validity| validity.contains(now)), || {
            entry
                .finding(DATA, "no certificate of the authority is in its validity period")
                .expected(format!("a certificate that is valid at {}", timestamp(now)))
                .observed(newest.violation(now))
        })
    })
}

/// `access/no-local-paths`
///
/// No access provider relies on a file, which consumers do not have. CA data override the path of a file.
pub(in crate::rules) fn no_local_paths(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let cluster = &entry.provider.cluster;
        let has_path = !cluster
            .certificate_authority
            .as_deref()
            .unwrap_or_default()
            .is_empty();
        let has_data = !ca_data(cluster).unwrap_or_default().is_empty();
        Answer::broken_if(has_path && !has_data, || {
            let message = "access provider refers to a file, which its readers do not have";
            entry
                .finding(".cluster.certificate-authority", message)
                .expected("the certificates themselves, in certificate-authority-data")
                .observed("a path")
        })
    })
}

fn ca_data(cluster: &Cluster) -> Option<&str> {
    cluster.certificate_authority_data.as_deref()
}

/// The validity period of a certificate.
#[derive(Clone, Copy, Debug)]
struct Validity {
    from: Micros,
    until: Micros,
}

impl Validity {
    /// Whether a time is within the period. Clocks may differ by 5 min.
    fn contains(self, now: Micros) -> bool {
        self.from.saturating_sub(CLOCKS_APART) <= now && now <= self.until.saturating_add(CLOCKS_APART)
    }

    /// Says why the certificate is not valid.
    fn violation(self, now: Micros) -> String {
        if now < self.from {
            format!("one not valid before {}", timestamp(self.from))
        } else {
            format!("one expired at {}", timestamp(self.until))
        }
    }
}

/// The validity of each certificate in PEM. Skips other blocks, as clients do.
fn validities(pem: &[u8]) -> impl Iterator<Item = Validity> {
    let blocks = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
    blocks.filter_map(|der| {
        let mut parser = X509CertificateParser::new().with_deep_parse_extensions(false);
        let (rest, certificate) = parser.parse(&der).ok()?;
        let validity = certificate.validity();
        rest.is_empty().then(|| Validity {
            from: validity.not_before.timestamp().saturating_mul(SECOND),
            until: validity.not_after.timestamp().saturating_mul(SECOND),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> String {
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]);
        made.expect("a certificate").cert.pem()
    }

    #[test]
    fn blocks_without_a_certificate_are_skipped() {
        let good = certificate();
        let broken = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        let cut = good.replacen("-----END CERTIFICATE-----\n", "", 1);
        let count = |pem: &str| validities(pem.as_bytes()).count();
        assert_eq!(count(&good), 1);
        assert_eq!(count(&format!("{good}{good}")), 2);
        assert_eq!(count(&format!("# an authority\n{good}")), 1);
        assert_eq!(count(&good.replace('\n', "\r\n")), 1);
        assert_eq!(count(&format!("{broken}{good}")), 1);
        assert_eq!(count(&format!("{good}{cut}")), 1);
        assert_eq!(count(broken), 0);
        assert_eq!(count(""), 0);
    }
}
