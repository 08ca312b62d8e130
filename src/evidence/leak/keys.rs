//! Recognizes credentials by field names, and rates their values.

use super::{Grade, LeakKind};

/// Placeholders and states: values that are no credential.
const NOTHING: &[&str] = &[
    "",
    "-",
    "absent",
    "disabled",
    "enabled",
    "expired",
    "false",
    "hidden",
    "invalid",
    "missing",
    "n/a",
    "nil",
    "no",
    "none",
    "null",
    "off",
    "omitted",
    "on",
    "optional",
    "present",
    "prompt",
    "redacted",
    "required",
    "set",
    "true",
    "undefined",
    "unknown",
    "unset",
    "valid",
    "yes",
];

/// Words before `secret` that mean a secret itself, not the name of one.
const OF_SECRETS: &[&str] = &[
    "api", "app", "client", "consumer", "hmac", "oauth", "oidc", "shared", "signing", "webhook",
];

/// Words before `key` that mean a secret key.
const OF_KEYS: &[&str] = &["access", "account", "api", "private", "secret"];

/// Words for a field that only holds a digest.
const OF_DIGESTS: &[&str] = &["checksum", "digest", "hash", "sha256"];

/// What a field's name suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Token,
    Password,
    /// A secret, or the name of a Secret.
    Secret,
    /// A secret itself.
    OwnSecret,
    /// Most likely the name of a Secret.
    SecretOfSome,
    Key,
    /// A field of a kubeconfig that only holds credentials.
    Kubeconfig(LeakKind),
}

/// Rates the value of a field with a credential's name.
pub(super) fn named(key: &str, value: &str) -> Option<(LeakKind, Grade)> {
    let promise = promise(key)?;
    let grade = match promise {
        _ if says_nothing(value) => None,
        Promise::Kubeconfig(_) => Some(Grade::Certain),
        _ if is_location(value) || is_document(value) => None,
        Promise::Password if value.contains(char::is_whitespace) => Some(Grade::Possible),
        Promise::Password => Some(Grade::Certain),
        // A sentence.
        _ if value.trim().contains(char::is_whitespace) => None,
        _ if looks_random(value) => Some(Grade::Certain),
        Promise::SecretOfSome => None,
        Promise::Key if is_word(value) || is_name(value) => None,
        Promise::Key => Some(Grade::Possible),
        Promise::Secret if is_name(value) => Some(Grade::Possible),
        Promise::Token | Promise::OwnSecret if has_parts(value) && is_name(value) => Some(Grade::Possible),
        _ if is_word(value) || is_number(value) || value.len() < 6 => Some(Grade::Possible),
        _ => Some(Grade::Certain),
    };
    Some((promise.kind(), grade?))
}

/// Rates the value after such a name within a text, where ordinary words may follow too.
pub(super) fn mentioned(key: &str, value: &str, is_assigned: bool) -> Option<(LeakKind, Grade)> {
    let promise = promise(key)?;
    let grade = match promise {
        _ if says_nothing(value) => return None,
        _ if looks_random(value) => Grade::Certain,
        Promise::Password if is_assigned && value.len() >= 6 && value.contains(is_digit) => Grade::Certain,
        _ => Grade::Shaped,
    };
    Some((promise.kind(), grade))
}

impl Promise {
    fn kind(self) -> LeakKind {
        match self {
            Promise::Token => LeakKind::Token,
            Promise::Password => LeakKind::Password,
            Promise::Secret | Promise::OwnSecret | Promise::SecretOfSome => LeakKind::Secret,
            Promise::Key => LeakKind::Key,
            Promise::Kubeconfig(kind) => kind,
        }
    }
}

fn promise(key: &str) -> Option<Promise> {
    // Most names end in none of these.
    let tail = key.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let ends_in = |word: &str| {
        let start = tail.len().wrapping_sub(word.len());
        tail.get(start..)
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    let last = [
        "token",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "key",
        "data",
    ]
    .into_iter()
    .find(|word| ends_in(word))?;
    let words = words(tail);
    // Charts write `checksum/secret` to keep the secret out.
    if words.iter().any(|word| OF_DIGESTS.contains(&word.as_str())) {
        return None;
    }
    // Written as one word, or as several.
    let before = match words.last().map(String::as_str) {
        Some(word) if word == last => words.len().checked_sub(2).map_or("", |index| &words[index]),
        Some(word) => &word[..word.len() - last.len()],
        None => "",
    };
    let is_alone = before.is_empty();
    match last {
        "token" => Some(Promise::Token),
        "password" | "passwd" | "passphrase" => Some(Promise::Password),
        "secret" if is_alone => Some(Promise::Secret),
        "secret" if OF_SECRETS.contains(&before) => Some(Promise::OwnSecret),
        "secret" => Some(Promise::SecretOfSome),
        "key" if OF_KEYS.contains(&before) => Some(Promise::Key),
        "key" => None,
        _ => match words.concat().as_str() {
            name if name.ends_with("clientkeydata") => Some(Promise::Kubeconfig(LeakKind::Key)),
            name if name.ends_with("clientcertificatedata") => {
                Some(Promise::Kubeconfig(LeakKind::ClientCertificate))
            }
            _ => None,
        },
    }
}

/// Splits a name into words in lower case: at signs, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && was_small;
        was_small = c.is_ascii_lowercase();
        match words.last_mut() {
            Some(word) if c.is_ascii_alphanumeric() && !begins => word.push(c.to_ascii_lowercase()),
            Some(word) if word.is_empty() => {}
            _ if c.is_ascii_alphanumeric() => words.push(c.to_ascii_lowercase().to_string()),
            _ => words.push(String::new()),
        }
    }
    words
}

/// Returns `true` for a value that is no credential: empty, masked, a placeholder or a state.
pub(super) fn says_nothing(value: &str) -> bool {
    let value = value.trim();
    let is_reference =
        value.starts_with(['$', '<', '%', '…']) || value.starts_with("{{") || value.starts_with("ENC[");
    let mut characters = value.chars();
    let first = characters.next();
    let is_masked = characters.all(|c| Some(c) == first);
    let word = |nothing: &&str| value.eq_ignore_ascii_case(nothing);
    is_reference || is_masked || NOTHING.iter().any(word) || contains_ignoring_case(value, "redacted")
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    let windows = text.as_bytes().windows(word.len());
    windows
        .into_iter()
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
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

/// Returns `true` for a digest, a URL or another reference: it names a thing and is not the thing.
fn is_reference(value: &str) -> bool {
    let beginnings = [
        "arn:",
        "md5:",
        "op:",
        "projects/",
        "ref+",
        "sha1:",
        "sha256:",
        "sha512:",
        "urn:",
        "vault:",
    ];
    beginnings.iter().any(|beginning| value.starts_with(beginning)) || value.contains("://")
}

/// Returns `true` for a reference or a file's path.
fn is_location(value: &str) -> bool {
    let value = value.trim();
    let is_path = value.starts_with(['/', '~']) || value.starts_with("./");
    is_reference(value) || (is_path && !looks_random(value))
}

/// Returns `true` for a document: its fields are searched instead.
fn is_document(value: &str) -> bool {
    value.trim_start().starts_with(['{', '['])
}

/// Returns `true` if it only has letters.
fn is_word(value: &str) -> bool {
    value.chars().all(char::is_alphabetic)
}

fn is_number(value: &str) -> bool {
    value.chars().all(is_digit)
}

/// Returns `true` for an object's name, with or without a namespace.
fn is_name(value: &str) -> bool {
    let may_stand = |c: char| c.is_ascii_lowercase() || is_digit(c) || matches!(c, '-' | '.' | '/');
    value.chars().all(may_stand) && value.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn has_parts(value: &str) -> bool {
    value.contains(['-', '.', '/'])
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}
