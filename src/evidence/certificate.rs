//! What rules and the search for credentials read of an X.509 certificate (RFC 5280, section 4.1).

use der::{
    Decode as _, Tag, Tagged as _,
    asn1::{AnyRef, GeneralizedTime, UtcTime},
};

// Object identifiers (RFC 5280, section 4.2.1), as they are encoded.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0];
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// A certificate. Its signature is not checked.
pub struct Certificate<'a> {
    validity: AnyRef<'a>,
    extensions: Vec<Extension<'a>>,
}

struct Extension<'a> {
    id: AnyRef<'a>,
    value: AnyRef<'a>,
}

impl<'a> Certificate<'a> {
    /// Reads the certificate that `der` begins with, if it does. Returns what follows it, too.
    pub fn read(der: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (certificate, rest) = AnyRef::from_der_partial(der).ok()?;
        let (signed, _signature) = AnyRef::from_der_partial(certificate.value()).ok()?;
        let fields = elements(signed)?;
        // The version may be absent.
        let version = usize::from(fields.first()?.tag() != Tag::Integer);
        let [
            _serial,
            _algorithm,
            _issuer,
            validity,
            _subject,
            _key,
            optional @ ..,
        ] = &fields[version..]
        else {
            return None;
        };
        let certificate = Self {
            validity: *validity,
            extensions: extensions(optional)?,
        };
        Some((certificate, rest))
    }

    /// `notBefore` and `notAfter`, in seconds since 1970; 0 for a time before. `None` if one of them is not a time.
    pub fn validity(&self) -> Option<(u64, u64)> {
        let [not_before, not_after] = elements(self.validity)?[..] else {
            return None;
        };
        Some((seconds(not_before)?, seconds(not_after)?))
    }

    /// Returns `true` for a certificate of a certificate authority.
    pub fn is_ca(&self) -> bool {
        let constraints = self.extension(BASIC_CONSTRAINTS);
        constraints
            .iter()
            .any(|field| field.decode_as::<bool>() == Ok(true))
    }

    /// Returns `true` if clients alone may use its key.
    pub fn is_for_clients_only(&self) -> bool {
        let usages = self.extension(EXTENDED_KEY_USAGE);
        let allows = |usage| usages.iter().any(|allowed| allowed.value() == usage);
        allows(CLIENT_AUTH) && !allows(SERVER_AUTH) && !allows(ANY_USAGE)
    }

    /// The elements of an extension's sequence; none if it is absent or malformed.
    fn extension(&self, id: &[u8]) -> Vec<AnyRef<'a>> {
        let extension = self
            .extensions
            .iter()
            .find(|extension| extension.id.value() == id);
        extension
            .and_then(|extension| elements(AnyRef::from_der(extension.value.value()).ok()?))
            .unwrap_or_default()
    }
}

/// Reads the extensions among the optional fields, which may be identifiers, too.
fn extensions<'a>(optional: &[AnyRef<'a>]) -> Option<Vec<Extension<'a>>> {
    let Some(extensions) = optional.iter().find(|field| field.tag().number().value() == 3) else {
        return Some(Vec::new());
    };
    let extensions = elements(AnyRef::from_der(extensions.value()).ok()?)?;
    extensions.into_iter().map(Extension::read).collect()
}

impl<'a> Extension<'a> {
    /// Between its id and its value, it may say whether it is critical.
    fn read(extension: AnyRef<'a>) -> Option<Self> {
        let [id, .., value] = elements(extension)?[..] else {
            return None;
        };
        Some(Self { id, value })
    }
}

/// Reads a time as seconds since 1970.
fn seconds(time: AnyRef<'_>) -> Option<u64> {
    let since_1970 = match time.tag() {
        // From 1950 to 1969: the year has two digits.
        Tag::UtcTime if matches!(time.value(), [b'5' | b'6', ..]) => return Some(0),
        Tag::UtcTime => time.decode_as::<UtcTime>().ok()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>().ok()?.to_unix_duration(),
    };
    Some(since_1970.as_secs())
}

/// The elements of a sequence; `None` if one of them is malformed.
fn elements(sequence: AnyRef<'_>) -> Option<Vec<AnyRef<'_>>> {
    let mut rest = sequence.value();
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let (element, after) = AnyRef::from_der_partial(rest).ok()?;
        elements.push(element);
        rest = after;
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose as Purpose, IsCa, KeyPair, date_time_ymd,
    };

    use super::*;

    fn der(is_ca: IsCa, usages: &[Purpose]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.is_ca = is_ca;
        params.extended_key_usages = usages.to_vec();
        certified(&params)
    }

    fn certified(params: &CertificateParams) -> Vec<u8> {
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    /// Only a `GeneralizedTime` can state the year 9999, and only a `UTCTime` with a year of two digits is before 1970.
    #[test]
    fn a_certificate_states_its_validity() {
        for (year, not_before) in [(2020, 1_577_836_800), (1950, 0)] {
            let mut params = CertificateParams::default();
            params.not_before = date_time_ymd(year, 1, 1);
            params.not_after = date_time_ymd(9999, 12, 31);
            let mut der = certified(&params);
            der.extend(b"more");
            let (certificate, rest) = Certificate::read(&der).expect("a certificate");
            assert_eq!(certificate.validity(), Some((not_before, 253_402_214_400)));
            assert_eq!(rest, b"more");
        }
    }

    #[test]
    fn a_certificate_states_who_may_use_its_key() {
        let only_clients = |usages: &[Purpose]| {
            let der = der(IsCa::ExplicitNoCa, usages);
            let (certificate, _) = Certificate::read(&der).expect("a certificate");
            assert!(!certificate.is_ca());
            certificate.is_for_clients_only()
        };
        assert!(only_clients(&[Purpose::ClientAuth]));
        assert!(only_clients(&[Purpose::EmailProtection, Purpose::ClientAuth]));
        assert!(!only_clients(&[Purpose::ClientAuth, Purpose::ServerAuth]));
        assert!(!only_clients(&[Purpose::ClientAuth, Purpose::Any]));
        assert!(!only_clients(&[]));
    }

    #[test]
    fn an_authority_says_so() {
        let der = der(IsCa::Ca(BasicConstraints::Unconstrained), &[Purpose::ClientAuth]);
        assert!(Certificate::read(&der).expect("a certificate").0.is_ca());
    }

    proptest! {
        #[test]
        fn no_certificate_is_read_where_bytes_are_missing(length in 0..300_usize) {
            let der = der(IsCa::NoCa, &[Purpose::ClientAuth]);
            prop_assert!(Certificate::read(&der[..length.min(der.len() - 1)]).is_none());
        }

        #[test]
        fn bytes_that_others_chose_are_read_without_a_panic(
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut der = der(IsCa::Ca(BasicConstraints::Constrained(1)), &[Purpose::ClientAuth]);
            for (index, byte) in changes {
                *index.get_mut(&mut der) = byte;
            }
            if let Some((certificate, _)) = Certificate::read(&der) {
                let _ = (certificate.is_ca(), certificate.is_for_clients_only(), certificate.validity());
            }
        }
    }
}
