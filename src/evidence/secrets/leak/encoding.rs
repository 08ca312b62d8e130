//! Base64 as people write it: of either alphabet, with or without padding.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
/// The standard alphabet.
pub(super) const WITH_PLUS: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
/// The alphabet of URLs and web tokens.
pub(super) const WITH_DASH: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// The text in base64 of either alphabet, if there is one.
pub(super) fn base64_text(value: &str) -> Option<String> {
    let engine = if value.contains(['-', '_']) {
        &WITH_DASH
    } else {
        &WITH_PLUS
    };
    String::from_utf8(engine.decode(value.trim_end_matches('=')).ok()?).ok()
}
