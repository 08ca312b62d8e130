//! Certificate authority data in access providers.

use evidence::Evidence;
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::{certificate::X509CertificateParser, nom::Parser as _};

use super::entries::{each_filled, each_present, entries, of_profile};
use crate::{
    hash::HashMap,
    shared::base64::decode,
    subjects::{Findings, Profiles},
    time::{CLOCKS_APART, Micros, SECOND, end, timestamp},
};

const DATA: &str = ".cluster.certificate-authority-data";

/// Maximum number of certificates that a finding lists.
const TOLD: usize = 3;

/// `access/ca-data-is-certificates`
///
/// The CA data of an access provider decode to PEM with at least one certificate.
pub(in crate::rules) fn ca_data_is_certificates(evidence: &Evidence, findings: &mut Findings) {
    let none = "no access provider has certificate-authority-data";
    // Thousands of members may be behind one gateway.
    let mut known: HashMap<&str, bool> = HashMap::default();
    each_filled(
        &Profiles::all(evidence),
        findings,
        none,
        |provider| provider.cluster.certificate_authority_data.as_deref(),
        |entry, data| {
            let holds_any = |pem: Vec<u8>| validities(&pem).next().is_some();
            if *known
                .entry(data)
                .or_insert_with(|| decode(data).is_some_and(holds_any))
            {
                return None;
            }
            let finding = entry
                .finding(DATA, "certificate-authority-data contains no certificate")
                .expected("base64 of PEM with at least one X.509 certificate")
                .observed(shape(decode(data).as_deref()));
            Some(finding)
        },
    );
}

/// `access/ca-data-current`
///
/// At least one certificate of each CA bundle is valid at the end of the run.
pub(in crate::rules) fn ca_data_current(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no access provider has the certificates of an authority");
    let mut known: HashMap<&str, Vec<Validity>> = HashMap::default();
    for entry in entries(evidence) {
        let Some(data) = entry.provider.cluster.certificate_authority_data.as_deref() else {
            continue;
        };
        let read = || decode(data).map_or_else(Vec::new, |pem| validities(&pem).collect());
        let validities = known.entry(data).or_insert_with(read);
        if validities.is_empty() {
            continue;
        }
        let Some(now) = end(evidence) else {
            findings
                .not_asked("the time of the dump is unknown, so expired certificates cannot be recognized");
            return;
        };
        findings.examine();
        if validities.iter().any(|validity| validity.holds(now)) {
            continue;
        }
        let mut told: Vec<String> = validities
            .iter()
            .take(TOLD)
            .map(|one| one.describe(now))
            .collect();
        if let Some(more) = validities.len().checked_sub(TOLD).filter(|more| *more > 0) {
            told.push(format!("and {more} more like it"));
        }
        findings.report(
            entry
                .finding(DATA, "no certificate of the authority is in its validity period")
                .expected(format!("a certificate that is valid at {}", timestamp(now)))
                .observed(told.join(", ")),
        );
    }
}

/// `access/no-local-paths`
///
/// No access provider relies on a file: only the manager has the manager's files.
///
/// Certificates beside the path override it, so that such a path is only noted.
pub(in crate::rules) fn no_local_paths(profiles: &Profiles, findings: &mut Findings) {
    let is_set = |text: &Option<Box<str>>| text.as_deref().is_some_and(|text| !text.is_empty());
    let overridden = profiles
        .inventory()
        .flat_map(of_profile)
        .map(|entry| &entry.provider.cluster)
        .filter(|cluster| {
            is_set(&cluster.certificate_authority) && is_set(&cluster.certificate_authority_data)
        })
        .count();
    findings.note_count(
        "",
        overridden,
        " access providers have certificate-authority beside certificate-authority-data, which overrides it",
    );
    each_present(profiles, findings, |entry| {
        let cluster = &entry.provider.cluster;
        let relies = is_set(&cluster.certificate_authority) && !is_set(&cluster.certificate_authority_data);
        let file = relies.then(|| {
            entry
                .finding(
                    ".cluster.certificate-authority",
                    "access provider refers to a file, which its readers do not have",
                )
                .expected("the certificates themselves, in certificate-authority-data")
                .observed("a path")
        });
        file.into_iter().collect()
    });
}

/// Returns the validity of each certificate in PEM, and skips other blocks as clients do.
fn validities(pem: &[u8]) -> impl Iterator<Item = Validity> {
    CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .filter_map(|certificate| {
            let mut parser = X509CertificateParser::new().with_deep_parse_extensions(false);
            let (rest, certificate) = parser.parse(&certificate).ok()?;
            let validity = certificate.validity();
            rest.is_empty().then(|| Validity {
                from: micros(validity.not_before.timestamp()),
                until: micros(validity.not_after.timestamp()),
            })
        })
}

fn micros(seconds: i64) -> Micros {
    seconds.saturating_mul(SECOND)
}

/// Describes data without a certificate. Does not quote them: they may be anything.
fn shape(pem: Option<&[u8]>) -> String {
    let Some(bytes) = pem else {
        return "no base64".to_owned();
    };
    let is_pem = |bytes: &[u8]| bytes.windows(11).any(|part| part == b"-----BEGIN ");
    let again = std::str::from_utf8(bytes).ok().and_then(decode);
    if is_pem(bytes) {
        "PEM without an X.509 certificate".to_owned()
    } else if again.is_some_and(|bytes| is_pem(&bytes)) {
        "PEM encoded in base64 twice".to_owned()
    } else {
        format!("{} bytes that are not PEM", bytes.len())
    }
}

/// The validity period of a certificate.
#[derive(Clone, Copy, Debug)]
struct Validity {
    from: Micros,
    until: Micros,
}

impl Validity {
    /// Whether the certificate is valid at a time, allowing for clock skew.
    fn holds(self, now: Micros) -> bool {
        self.from.saturating_sub(CLOCKS_APART) <= now && now <= self.until.saturating_add(CLOCKS_APART)
    }

    /// Describes why the certificate is not valid.
    fn describe(self, now: Micros) -> String {
        if now < self.from {
            format!("one not valid before {}", timestamp(self.from))
        } else {
            format!("one expired at {}", timestamp(self.until))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> String {
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]);
        made.expect("a certificate").cert.pem()
    }

    #[test]
    fn what_is_no_certificate_is_passed_over() {
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
