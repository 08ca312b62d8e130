//! Distinguishes values of credentials from names, references and placeholders.

use super::{Grade, finds::base64_text, patterns::RESOURCE};

/// Placeholders and states: values that are not credentials.
const NOTHING: &str = "\
    - absent disabled enabled expired false hidden invalid missing n/a nil no none null off omitted on \
    optional present prompt redacted required set true undefined unknown unset valid yes";

pub(super) fn is_one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns `true` for a value that is not a credential: empty, masked, a placeholder or a state.
pub(super) fn says_nothing(value: &str) -> bool {
    let value = value.trim();
    let is_reference =
        value.starts_with(['$', '<', '%', '…']) || value.starts_with("{{") || value.starts_with("ENC[");
    let mut characters = value.chars();
    let first = characters.next();
    let is_masked = characters.all(|c| Some(c) == first);
    let is_state = is_one_of(value, NOTHING);
    is_reference || is_masked || is_state || value.to_ascii_lowercase().contains("redacted")
}

/// Returns `true` for a value that looks random, and is not a name, an id or a digest.
pub(super) fn looks_random(value: &str) -> bool {
    if is_reference(value) || value.contains(char::is_whitespace) {
        return false;
    }
    let mixed = |text: &str| text.contains(is_digit) && text.contains(|c: char| c.is_ascii_alphabetic());
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let has_run = runs.into_iter().any(|run| run.len() >= 16 && mixed(run));
    let of_all_kinds = value.len() >= 24
        && value.contains(is_digit)
        && value.contains(|c: char| c.is_ascii_uppercase())
        && value.contains(|c: char| c.is_ascii_lowercase());
    has_run || of_all_kinds
}

const BEGINNINGS: &str = "arn: md5: op: projects/ ref+ sha1: sha256: sha512: urn: vault:";

/// Returns `true` for a digest, a URL or another reference: it names a thing and is not the thing.
fn is_reference(value: &str) -> bool {
    BEGINNINGS
        .split(' ')
        .any(|beginning| value.starts_with(beginning))
        || value.contains("://")
}

pub(super) fn is_location(value: &str) -> bool {
    let value = value.trim();
    let is_path = value.starts_with(['/', '~']) || value.starts_with("./");
    is_reference(value) || (is_path && !looks_random(value))
}

/// Returns `true` for the name of a resource in several parts, as clouds and vaults give them, or for a file's path.
pub(super) fn is_resource(value: &str) -> bool {
    RESOURCE.is_match(trimmed(value))
}

/// Returns `true` for a file's path from a known folder on, even if a part of it looks random.
pub(super) fn is_path(value: &str) -> bool {
    let parts = RESOURCE.captures(trimmed(value));
    parts.is_some_and(|parts| parts.name("root").is_some())
}

/// Without the signs that end a part of a sentence.
fn trimmed(value: &str) -> &str {
    value.trim().trim_end_matches([':', '.'])
}

/// Returns `true` for a document: its fields are searched instead.
pub(super) fn is_document(value: &str) -> bool {
    value.trim_start().starts_with(['{', '['])
}

pub(super) fn is_word(value: &str) -> bool {
    value.chars().all(char::is_alphabetic)
}

pub(super) fn is_number(value: &str) -> bool {
    value.chars().all(is_digit)
}

/// Returns `true` for a number that is long enough for a secret one.
pub(super) fn is_pin(value: &str) -> bool {
    is_number(value) && (4..=12).contains(&value.len())
}

/// Returns `true` for an object's name, with or without a namespace.
pub(super) fn is_name(value: &str) -> bool {
    let may_stand = |c: char| c.is_ascii_lowercase() || is_digit(c) || matches!(c, '-' | '.' | '/');
    value.chars().all(may_stand) && value.starts_with(|c: char| c.is_ascii_alphanumeric())
}

pub(super) fn has_parts(value: &str) -> bool {
    value.contains(['-', '.', '/'])
}

pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Signs of passwords, which names lack.
pub(super) fn is_sign(c: char) -> bool {
    matches!(c, '!' | '#' | '$' | '%' | '&' | '*' | '+' | '=' | '?' | '^' | '~')
}

/// Returns `true` for a name of several parts, which is not a credential even if one of them looks random.
pub(super) fn is_long_name(value: &str) -> bool {
    match value.split_once('@') {
        // An account's address.
        Some((account, domain)) => is_name(account) && is_name(domain) && domain.contains('.'),
        None => is_name(value) && has_parts(value) && !is_bootstrap_token(value),
    }
}

/// A token of kubeadm: six characters, a dot and sixteen characters.
fn is_bootstrap_token(value: &str) -> bool {
    let of = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    value
        .split_once('.')
        .is_some_and(|(id, secret)| of(id, 6) && of(secret, 16))
}

/// Returns `true` for a certificate in PEM, or for base64 of a certificate. Names and paths of certificates are none.
pub(super) fn holds_certificate(value: &str) -> bool {
    // `MII` begins a long structure in DER, `LS0tLS1CRUdJTi` a text in PEM.
    let value = value.trim_start();
    value.contains("-----BEGIN CERTIFICATE")
        || (value.len() >= 64 && (value.starts_with("MII") || value.starts_with("LS0tLS1CRUdJTiBDRVJ")))
}

/// Schemes of the header `Authorization` besides `Basic`, `Bearer` and `Token`.
const SCHEMES: &str =
    "apikey aws4-hmac-sha256 digest dpop hawk negotiate ntlm sharedaccesssignature sharedkey";

/// Parameters of such schemes that prove who the sender is.
const PROOFS: &str = "mac response sig signature";

/// Rates the value of the header `Authorization`. Without a known scheme it is at most a possible credential.
pub(super) fn header_grade(value: &str) -> Option<Grade> {
    let (scheme, value) = value.trim().split_once(' ')?;
    let value = value.trim();
    if is_one_of(scheme, "basic") {
        return is_login(value).then_some(Grade::Certain);
    }
    if is_one_of(scheme, "bearer token") {
        let is_coded =
            !value.contains(char::is_whitespace) && (value.len() >= 32 || value.contains(is_digit));
        let is_certain = (is_coded && !says_nothing(value)) || looks_random(value);
        return is_certain.then_some(Grade::Certain);
    }
    if is_one_of(scheme, SCHEMES) {
        return (looks_random(value) || has_proof(value)).then_some(Grade::Certain);
    }
    (looks_random(value) && !is_long_name(value) && !is_resource(value)).then_some(Grade::Possible)
}

/// Returns `true` for `signature=3f2c` among other parameters.
fn has_proof(value: &str) -> bool {
    let mut pairs = value
        .split([',', ' '])
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.any(|(name, value)| is_one_of(name, PROOFS) && !says_nothing(value.trim_matches('"')))
}

/// Returns `true` for base64 of a user's name and password.
pub(super) fn is_login(value: &str) -> bool {
    let decoded = base64_text(value.trim());
    decoded.is_some_and(|text| {
        text.split_once(':')
            .is_some_and(|(_, password)| !says_nothing(password))
    })
}

/// Attributes of cookies, which say nothing of the session.
const OF_COOKIES: &str = "domain expires max-age path samesite";

/// Returns `true` for `name=value` with a value that looks like a session.
pub(super) fn is_cookie(value: &str) -> bool {
    let is_session = |(name, value): (&str, &str)| {
        let is_coded = value.len() >= 8 && value.contains(is_digit) && !is_number(value);
        !is_one_of(name, OF_COOKIES) && is_coded && !says_nothing(value)
    };
    let mut pairs = value.split(';').filter_map(|pair| pair.trim().split_once('='));
    looks_random(value) || pairs.any(is_session)
}
