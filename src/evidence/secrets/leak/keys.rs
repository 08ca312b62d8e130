//! Recognizes credentials by field names.

use super::{
    Grade,
    patterns::is_uuid,
    values::{
        has_parts, header_grade, holds_certificate, is_cookie, is_digit, is_document, is_location, is_login,
        is_long_name, is_name, is_number, is_one_of, is_path, is_pin, is_resource, is_sign, is_word,
        looks_random, says_nothing,
    },
};

/// Words before `secret` that mean a secret itself, not the name of one.
const OF_SECRETS: &str = "api app client consumer hmac oauth oidc shared signing webhook";

/// Words before `key` that mean a secret key.
const OF_KEYS: &str = "access account api private secret";

/// Words for a field that only holds a digest.
const OF_DIGESTS: &str = "checksum digest hash sha256";

/// Words in the names of fields that count something, for example `maxToken`.
const OF_COUNTS: &str = "count limit max maximum min minimum num number";

/// The last words of fields that hold credentials.
const ENDINGS: [&str; 20] = [
    "token",
    "jwt",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "pin",
    "secret",
    "secretid",
    "secret_id",
    "secret-id",
    "credential",
    "cookie",
    "authorization",
    "auth",
    "certificate",
    "cert",
    "crt",
    "key",
    "data",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Token,
    /// A JSON web token.
    WebToken,
    Password,
    /// A number that a user enters, or one of a device.
    Pin,
    /// A secret, or the name of a Secret.
    Secret,
    /// A secret itself.
    OwnSecret,
    /// A secret that belongs to an id, as Vault gives them out, or the id of a Secret.
    SecretId,
    /// Most likely the name of a Secret.
    SecretOfSome,
    /// A credential, or the name of one.
    Credential,
    Cookie,
    /// A header, or another form of authorization.
    Authorization,
    /// A registry's entry in a Docker configuration, or another form of login.
    RegistryLogin,
    /// A certificate that a client shows, or the name of one.
    ClientCertificate,
    Key,
    /// A field of a kubeconfig that only holds credentials.
    Kubeconfig(&'static str),
}

/// Rates the value of a field with a credential's name. A value that is a name is at most a possible credential, however random.
pub(in crate::secrets) fn grade_field(key: &str, value: &str) -> Option<(&'static str, Grade)> {
    let KeyPromise { promise, is_plural } = promise(key)?;
    let grade = match promise {
        _ if says_nothing(value) => None,
        Promise::Kubeconfig(_) => Some(Grade::Certain),
        Promise::ClientCertificate => holds_certificate(value).then_some(Grade::Certain),
        Promise::Authorization => header_grade(value),
        Promise::RegistryLogin => is_login(value).then_some(Grade::Certain),
        _ if is_location(value) || is_document(value) => None,
        Promise::Pin => is_pin(value).then_some(Grade::Possible),
        Promise::Password if value.contains(char::is_whitespace) => Some(Grade::Possible),
        Promise::Password => Some(Grade::Certain),
        Promise::Cookie => is_cookie(value).then_some(Grade::Certain),
        // A sentence.
        _ if value.trim().contains(char::is_whitespace) => None,
        Promise::SecretId if is_uuid(value) => Some(Grade::Certain),
        Promise::SecretOfSome if is_name(value) => None,
        Promise::Secret if is_name(value) => (!is_plural).then_some(Grade::Possible),
        Promise::SecretOfSome if is_resource(value) => None,
        Promise::Secret | Promise::Credential if is_resource(value) => {
            (!is_plural).then_some(Grade::Possible)
        }
        Promise::Key if is_name(value) && has_parts(value) => None,
        _ if is_path(value) => (!is_plural).then_some(Grade::Possible),
        _ if is_long_name(value) => (!is_plural).then_some(Grade::Possible),
        _ if looks_random(value) => Some(Grade::Certain),
        // Lists are lists of names rather than of credentials.
        _ if is_plural => None,
        Promise::SecretOfSome | Promise::WebToken => None,
        Promise::Key if is_word(value) || is_name(value) => None,
        Promise::Key => Some(Grade::Possible),
        Promise::Credential if is_word(value) => None,
        Promise::Credential if !(value.contains(is_digit) && value.contains(is_sign)) => {
            Some(Grade::Possible)
        }
        _ if is_word(value) || is_number(value) || value.len() < 6 => Some(Grade::Possible),
        _ => Some(Grade::Certain),
    };
    Some((promise.kind(), grade?))
}

/// Rates a number in a field with a credential's name, like its text. A count of them is not a credential.
pub(in crate::secrets) fn grade_number(key: &str, number: &str) -> Option<(&'static str, Grade)> {
    let is_count = number.starts_with('-') || words(key).iter().any(|word| is_one_of(word, OF_COUNTS));
    let KeyPromise { promise, is_plural } = promise(key)?;
    let may_be_number = matches!(
        promise,
        Promise::Token | Promise::Password | Promise::Pin | Promise::Secret | Promise::OwnSecret
    );
    if is_count || !may_be_number {
        return None;
    }
    let (kind, grade) = grade_field(key, number)?;
    let highest = if is_plural {
        Grade::Possible
    } else {
        Grade::Certain
    };
    Some((kind, grade.min(highest)))
}

/// Rates the value after such a name within a text, where ordinary words may follow too.
pub(super) fn grade_in_text(key: &str, value: &str, is_assigned: bool) -> Option<(&'static str, Grade)> {
    let KeyPromise { promise, .. } = promise(key)?;
    let whole = value;
    let value = beginning(whole);
    let grade = match promise {
        Promise::RegistryLogin if is_login(value) => Grade::Certain,
        // Headers and certificates have patterns of their own.
        Promise::RegistryLogin | Promise::Authorization | Promise::ClientCertificate => return None,
        Promise::Pin if !is_pin(value) => return None,
        _ if says_nothing(value) => return None,
        Promise::Cookie if is_cookie(value) => Grade::Certain,
        _ if is_assignment(whole) => return None,
        Promise::Secret | Promise::SecretOfSome if is_name(value) => Grade::Shaped,
        Promise::Secret | Promise::SecretOfSome | Promise::Credential if is_resource(value) => Grade::Shaped,
        Promise::SecretId if is_uuid(value) => Grade::Certain,
        Promise::Token | Promise::OwnSecret if is_assigned && is_long_name(value) && looks_random(value) => {
            Grade::Possible
        }
        _ if promise != Promise::Password && (is_long_name(value) || is_path(value)) => Grade::Shaped,
        _ if looks_random(value) => Grade::Certain,
        Promise::Password if is_assigned && value.len() >= 6 && value.contains(is_digit) => Grade::Certain,
        _ => Grade::Shaped,
    };
    Some((promise.kind(), grade))
}

/// Rates a word that follows such a name in prose: enough to redact it, if it looks random.
pub(super) fn grade_in_prose(key: &str, value: &str) -> Option<(&'static str, Grade)> {
    let KeyPromise { promise, .. } = promise(key)?;
    let may_be_in_prose = matches!(
        promise,
        Promise::Token | Promise::WebToken | Promise::Password | Promise::OwnSecret
    );
    let is_suspect = may_be_in_prose && looks_random(value) && !is_long_name(value) && !is_assignment(value);
    is_suspect.then_some((promise.kind(), Grade::Shaped))
}

impl Promise {
    fn kind(self) -> &'static str {
        match self {
            Promise::Token => "a token",
            Promise::WebToken => "a JSON web token",
            Promise::Password | Promise::Pin => "a password",
            Promise::Secret | Promise::OwnSecret | Promise::SecretId | Promise::SecretOfSome => "a secret",
            Promise::Credential => "a credential",
            Promise::Cookie => "a cookie",
            Promise::Authorization => "an authorization header",
            Promise::RegistryLogin => "a user name with its password",
            Promise::ClientCertificate => "a client certificate",
            Promise::Key => "a key",
            Promise::Kubeconfig(kind) => kind,
        }
    }
}

/// What a field's name suggests, and whether it is the name of a list.
struct KeyPromise {
    promise: Promise,
    is_plural: bool,
}

fn promise(key: &str) -> Option<KeyPromise> {
    // Most names end in none of these.
    let tail = key.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let ending = |tail: &str| ENDINGS.iter().copied().find(|word| ends_in(tail, word));
    let (tail, last, is_plural) = match ending(tail) {
        Some(last) => (tail, last, false),
        None => {
            let singular = tail.strip_suffix(['s', 'S'])?;
            (singular, ending(singular)?, true)
        }
    };
    let words = words(tail);
    // Charts write `checksum/secret` to keep the secret out.
    if words.iter().any(|word| is_one_of(word, OF_DIGESTS)) {
        return None;
    }
    // Written as one word, or as several.
    let before = match words.last().map(String::as_str) {
        Some(word) if word == last => words.len().checked_sub(2).map_or("", |index| &words[index]),
        Some(word) => word.strip_suffix(last).unwrap_or_default(),
        None => "",
    };
    let is_alone = before.is_empty();
    let promise = match last {
        "token" => Promise::Token,
        "jwt" => Promise::WebToken,
        "password" | "passwd" | "passphrase" | "pwd" => Promise::Password,
        "pin" if words.last().is_some_and(|word| word == "pin") => Promise::Pin,
        "secret" if is_alone => Promise::Secret,
        "secret" if is_one_of(before, OF_SECRETS) => Promise::OwnSecret,
        "secret" => Promise::SecretOfSome,
        "secretid" | "secret_id" | "secret-id" => Promise::SecretId,
        "credential" => Promise::Credential,
        "cookie" => Promise::Cookie,
        "authorization" => Promise::Authorization,
        "auth" if words.last().is_some_and(|word| word == "auth") => Promise::RegistryLogin,
        "certificate" | "cert" | "crt" if words.concat().ends_with(&format!("client{last}")) => {
            Promise::ClientCertificate
        }
        "key" if is_one_of(before, OF_KEYS) => Promise::Key,
        "data" => match words.concat().as_str() {
            name if name.ends_with("clientkeydata") => Promise::Kubeconfig("a key"),
            name if name.ends_with("clientcertificatedata") => Promise::Kubeconfig("a client certificate"),
            _ => return None,
        },
        _ => return None,
    };
    Some(KeyPromise { promise, is_plural })
}

fn ends_in(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let start = text.len().checked_sub(word.len());
    // Most names end in another letter.
    text.last().map(u8::to_ascii_lowercase) == word.last().copied()
        && start.is_some_and(|start| text[start..].eq_ignore_ascii_case(word))
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

/// The longest beginning of a value that is rated, as the text behind a rejected value's name is searched again.
const LONGEST_RATED: usize = 512;

fn beginning(value: &str) -> &str {
    let end = value.char_indices().nth(LONGEST_RATED);
    end.map_or(value, |(end, _)| &value[..end])
}

/// The longest value of which [`is_assignment`] is asked: the text behind it is searched again.
const LONGEST_ASSIGNMENT: usize = 256;

/// Returns `true` for `kid=3f2c`: the name before it is not the value's own.
fn is_assignment(value: &str) -> bool {
    let parts = value
        .split_once('=')
        .filter(|_| value.len() <= LONGEST_ASSIGNMENT);
    parts.is_some_and(|(key, value)| {
        let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.len() < 20
            && key
                .chars()
                .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'));
        is_key && !value.trim_start_matches('=').is_empty() && promise(key).is_none()
    })
}
