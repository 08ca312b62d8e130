//! What rules and the search for credentials read of an X.509 certificate (RFC 5280, section 4.1).

use der::{
    Decode as _, Reader as _, Result, SliceReader, Tag, Tagged as _,
    asn1::{AnyRef, GeneralizedTime, UtcTime},
};

// Object identifiers (RFC 5280, section 4.2.1), as they are encoded.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0];
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// A certificate, whose signature is not checked.
pub struct Certificate<'a> {
    validity: &'a [u8],
    extensions: Vec<Extension<'a>>,
}

struct Extension<'a> {
    id: &'a [u8],
    value: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Reads the certificate that `der` begins with. Returns what follows it, too.
    ///
    /// # Errors
    ///
    /// If `der` does not begin with a certificate.
    pub fn read(der: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let (certificate, rest) = AnyRef::from_der_partial(der)?;
        let mut fields = SliceReader::new(certificate.value())?;
        let signed = AnyRef::decode(&mut fields)?;
        Ok((Self::signed(&mut SliceReader::new(signed.value())?)?, rest))
    }

    /// Reads the fields of a `TBSCertificate`.
    fn signed(fields: &mut SliceReader<'a>) -> Result<Self> {
        // The version may be absent.
        if AnyRef::decode(fields)?.tag() != Tag::Integer {
            let _serial_number = AnyRef::decode(fields)?;
        }
        let _signature = AnyRef::decode(fields)?;
        let _issuer = AnyRef::decode(fields)?;
        let validity = AnyRef::decode(fields)?.value();
        let _subject = AnyRef::decode(fields)?;
        let _public_key = AnyRef::decode(fields)?;
        Ok(Self {
            validity,
            extensions: extensions(fields)?,
        })
    }

    /// `notBefore` and `notAfter`, in seconds since 1970; 0 for a time before.
    ///
    /// # Errors
    ///
    /// If one of them is not a time.
    pub fn validity(&self) -> Result<(u64, u64)> {
        let mut times = SliceReader::new(self.validity)?;
        Ok((seconds(&mut times)?, seconds(&mut times)?))
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
        let extension = self.extensions.iter().find(|extension| extension.id == id);
        extension
            .and_then(|extension| elements(extension.value).ok())
            .unwrap_or_default()
    }
}

impl<'a> Extension<'a> {
    fn read(extension: AnyRef<'a>) -> Result<Self> {
        let mut fields = SliceReader::new(extension.value())?;
        let id = AnyRef::decode(&mut fields)?.value();
        let mut value = AnyRef::decode(&mut fields)?;
        // Whether it is critical may be absent.
        if value.tag() == Tag::Boolean {
            value = AnyRef::decode(&mut fields)?;
        }
        let value = value.value();
        Ok(Self { id, value })
    }
}

/// Reads a time as seconds since 1970.
fn seconds(times: &mut SliceReader<'_>) -> Result<u64> {
    let time = AnyRef::decode(times)?;
    let since_1970 = match time.tag() {
        // From 1950 to 1969: the year has two digits.
        Tag::UtcTime if matches!(time.value(), [b'5' | b'6', ..]) => return Ok(0),
        Tag::UtcTime => time.decode_as::<UtcTime>()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    Ok(since_1970.as_secs())
}

/// Reads what follows the public key: unique identifiers, and extensions.
fn extensions<'a>(fields: &mut SliceReader<'a>) -> Result<Vec<Extension<'a>>> {
    let mut extensions = Vec::new();
    while !fields.is_finished() {
        let field = AnyRef::decode(fields)?;
        if field.tag().number().value() == 3 {
            extensions = elements(field.value())?;
        }
    }
    extensions.into_iter().map(Extension::read).collect()
}

/// The elements of a sequence.
fn elements(sequence: &[u8]) -> Result<Vec<AnyRef<'_>>> {
    let mut reader = SliceReader::new(AnyRef::from_der(sequence)?.value())?;
    let mut elements = Vec::new();
    while !reader.is_finished() {
        elements.push(AnyRef::decode(&mut reader)?);
    }
    Ok(elements)
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
            assert_eq!(certificate.validity(), Ok((not_before, 253_402_214_400)));
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
            prop_assert!(Certificate::read(&der[..length.min(der.len() - 1)]).is_err());
        }

        #[test]
        fn bytes_that_others_chose_are_read_without_a_panic(
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut der = der(IsCa::Ca(BasicConstraints::Constrained(1)), &[Purpose::ClientAuth]);
            for (index, byte) in changes {
                *index.get_mut(&mut der) = byte;
            }
            if let Ok((certificate, _)) = Certificate::read(&der) {
                let _ = (certificate.is_ca(), certificate.is_for_clients_only(), certificate.validity());
            }
        }
    }
}
