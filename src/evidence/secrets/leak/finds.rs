//! Finds credentials in a text, by their form and their position.

use std::ops::Range;

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::Captures;
use rustls_pki_types::PrivateKeyDer;
use serde_json::Value;

use super::{
    Grade,
    keys::{grade_in_prose, grade_in_text},
    patterns::{
        BASE64, BASIC, BEARER, CERTIFICATE, NAMED_VALUE, PRIVATE_KEY, WEB_TOKEN, find_bootstrap, find_issued,
        may_hold, value_end,
    },
    scan,
    values::{looks_random, says_nothing},
};
use crate::certificate::Certificate;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
/// The standard alphabet.
const WITH_PLUS: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
/// The alphabet of URLs and web tokens.
const WITH_DASH: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// The text in base64 of either alphabet, if there is one.
pub(super) fn base64_text(value: &str) -> Option<String> {
    String::from_utf8(base64_bytes(value.trim_end_matches('='))?).ok()
}

/// The bytes in base64 of either alphabet, without padding.
fn base64_bytes(value: &str) -> Option<Vec<u8>> {
    let engine = if value.contains(['-', '_']) {
        &WITH_DASH
    } else {
        &WITH_PLUS
    };
    engine.decode(value).ok()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    /// Its bytes, and those of other finds that it replaces.
    pub range: Range<usize>,
    /// Its own length in bytes.
    pub length: usize,
    pub kind: &'static str,
    pub grade: Grade,
    /// True if it is in base64.
    pub encoded: bool,
    /// The bytes of the name that makes it a credential, if its form alone does not.
    pub key: Option<Range<usize>>,
}

impl Find {
    pub(super) fn new(range: Range<usize>, kind: &'static str, grade: Grade) -> Self {
        Self {
            length: range.len(),
            range,
            kind,
            grade,
            encoded: false,
            key: None,
        }
    }
}

/// The start of a private key in base64. Other text may precede it.
const ENCODED_PEM: &str = "LS0tLS1CRUdJTi";

/// Returns all credentials in a text, of any grade, in order and without overlaps.
pub(crate) fn finds(text: &str) -> Vec<Find> {
    if may_hold(text) {
        finds_within(text, 0)
    } else {
        Vec::new()
    }
}

/// Returns the credentials in a text that may hold some, and is this deep within another one.
pub(super) fn finds_within(text: &str, depth: usize) -> Vec<Find> {
    let mut finds = Vec::new();
    private_keys(text, &mut finds);
    client_certificates(text, &mut finds);
    web_tokens(text, &mut finds);
    headers(text, &mut finds);
    userinfo(text, &mut finds);
    find_issued(text, &mut finds);
    find_bootstrap(text, &mut finds);
    named_values(text, &mut finds);
    base64(text, depth, &mut finds);
    without_overlaps(finds)
}

fn private_keys(text: &str, finds: &mut Vec<Find>) {
    for captures in PRIVATE_KEY.captures_iter(text) {
        let grade = match (captures.name("body"), captures.name("rest")) {
            (Some(body), _) if count_base64(body.as_str()) >= 32 => Grade::Certain,
            // A key that was cut or garbled cannot be read, and is not to be there either.
            (Some(content), _) | (None, Some(content)) if is_garbled_key(content.as_str()) => Grade::Possible,
            // A message may quote only the first line of a key.
            _ => Grade::Shaped,
        };
        finds.push(Find::new(captures.get_match().range(), "a private key", grade));
    }
}

fn count_base64(text: &str) -> usize {
    let of_base64 = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    text.chars().filter(of_base64).count()
}

/// Returns `true` for something on the lines after the first one of a key, unless it is masked.
fn is_garbled_key(content: &str) -> bool {
    let content = content.trim_start_matches([' ', '\t']);
    let lines = ["\r\n", "\n", r"\r\n", r"\n", "%0D%0A", "%0A", "%0d%0a", "%0a"]
        .into_iter()
        .find_map(|end| content.strip_prefix(end));
    lines.is_some_and(|lines| {
        let first_line = lines.lines().next().unwrap_or_default();
        let first_line = first_line.split(r"\n").next().unwrap_or_default();
        let first_line = first_line.split("%0").next().unwrap_or_default().trim();
        !first_line.is_empty()
            && !first_line.contains("...")
            && !first_line.contains(' ')
            && !says_nothing(first_line)
            && !says_nothing(first_line.trim_matches(['[', ']', '(', ')']))
    })
}

/// Certificates that only clients use. Those of servers and authorities are public, and no credential.
fn client_certificates(text: &str, finds: &mut Vec<Find>) {
    for captures in CERTIFICATE.captures_iter(text) {
        let body = captures["body"].replace(r"\n", "").replace(r"\r", "");
        let body: String = body
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '\\')
            .collect();
        let der = WITH_PLUS.decode(body).unwrap_or_default();
        if is_client_certificate(&der) {
            let kind = "a client certificate";
            finds.push(Find::new(captures.get_match().range(), kind, Grade::Certain));
        }
    }
}

/// Returns `true` for a certificate whose key may be used by clients alone.
fn is_client_certificate(der: &[u8]) -> bool {
    // What does not begin as one is not parsed.
    if !matches!(der, [0x30, 0x82, ..]) {
        return false;
    }
    Certificate::read(der)
        .is_some_and(|(certificate, _)| certificate.is_for_clients_only() && !certificate.is_ca())
}

fn web_tokens(text: &str, finds: &mut Vec<Find>) {
    for captures in WEB_TOKEN.captures_iter(text) {
        // An unsigned one is not a secret.
        let is_signed = captures["signature"].len() > 1;
        let header = WITH_DASH.decode(&captures["header"]).unwrap_or_default();
        let names_algorithm =
            serde_json::from_slice::<Value>(&header).is_ok_and(|header| header["alg"].is_string());
        let grade = if is_signed && names_algorithm {
            Grade::Certain
        } else {
            Grade::Shaped
        };
        finds.push(Find::new(captures.get_match().range(), "a JSON web token", grade));
    }
}

fn headers(text: &str, finds: &mut Vec<Find>) {
    for captures in BEARER.captures_iter(text) {
        let value = &captures["value"];
        let is_coded = value.len() >= 32 || value.contains(|c: char| c.is_ascii_digit());
        let is_header = captures.name("header").is_some() && is_coded;
        let grade = if looks_random(value) || is_header {
            Grade::Certain
        } else if value.len() < 20 {
            // An ordinary word.
            continue;
        } else {
            Grade::Shaped
        };
        finds.push(Find::new(from_scheme(&captures), "a bearer token", grade));
    }
    for captures in BASIC.captures_iter(text) {
        let login = WITH_PLUS.decode(&captures["value"]).unwrap_or_default();
        let grade = if login.contains(&b':') {
            Grade::Certain
        } else {
            Grade::Shaped
        };
        let kind = "a user name with its password";
        finds.push(Find::new(from_scheme(&captures), kind, grade));
    }
}

fn from_scheme(captures: &Captures) -> Range<usize> {
    let start = captures.name("scheme").map_or(0, |scheme| scheme.start());
    start..captures.get_match().end()
}

/// Adds the userinfo of each URL, with or without a scheme.
fn userinfo(text: &str, finds: &mut Vec<Find>) {
    if !text.contains('@') {
        return;
    }
    for (slashes, _) in text.match_indices("//") {
        let start = slashes + 2;
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\\' | ',');
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        if let Some((userinfo, host)) = authority.rsplit_once('@')
            && !userinfo.is_empty()
        {
            let grade = userinfo_grade(userinfo, host, &text[..slashes]);
            finds.push(Find::new(
                start..start + userinfo.len(),
                "userinfo of a URL",
                grade,
            ));
        }
    }
}

/// Grades userinfo. A plain user name, as in `ssh://git@host`, is a secret only if it looks like a token.
fn userinfo_grade(userinfo: &str, host: &str, before: &str) -> Grade {
    let is_image = host.starts_with("sha256:") || host.starts_with("sha512:");
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let is_url = before.ends_with(':') && !is_image;
    if is_url && (!says_nothing(password) || looks_random(user)) {
        Grade::Certain
    } else {
        Grade::Shaped
    }
}

fn named_values(text: &str, finds: &mut Vec<Find>) {
    let mut start = 0;
    let mut end = 0;
    while let Some(captures) = NAMED_VALUE.captures_at(text, start) {
        let value_start = captures.name("first").map_or(0, |first| first.start());
        // A name within the last value has a value with the same end.
        if value_start >= end {
            end = value_end(text, value_start);
        }
        let value = value_start..end;
        // In prose, words follow a name; after an option comes its value.
        let is_prose = captures.name("gap").is_some() && captures.name("dashes").is_none();
        let is_assigned = captures.name("sign").is_some_and(|sign| sign.as_str() == "=");
        let key = &captures["key"];
        let rating = if is_prose {
            grade_in_prose(key, &text[value.clone()])
        } else {
            grade_in_text(key, &text[value.clone()], is_assigned)
        };
        start = match rating {
            Some((kind, grade)) => {
                finds.push(Find {
                    key: captures.name("key").map(|key| key.range()),
                    ..Find::new(value.clone(), kind, grade)
                });
                value.end
            }
            // The value may itself be a name.
            None => value.start,
        };
    }
}

/// Adds the runs of base64 that hold a credential.
fn base64(text: &str, depth: usize, finds: &mut Vec<Find>) {
    if depth >= scan::DEEPEST {
        return;
    }
    for run in BASE64.find_iter(text) {
        let starts = [Some(0), run.as_str().find(ENCODED_PEM).filter(|&start| start > 0)];
        let inner = starts
            .into_iter()
            .flatten()
            .find_map(|start| within(&run.as_str()[start..], depth));
        if let Some((kind, grade)) = inner {
            finds.push(Find {
                encoded: true,
                ..Find::new(run.range(), kind, grade)
            });
        }
    }
}

/// The most certain credential in a run of base64.
fn within(run: &str, depth: usize) -> Option<(&'static str, Grade)> {
    let whole = run.trim_end_matches('=');
    // An incomplete group holds no byte.
    let whole = match whole.len() % 4 {
        1 => &whole[..whole.len() - 1],
        _ => whole,
    };
    let bytes = base64_bytes(whole)?;
    if PrivateKeyDer::try_from(&*bytes).is_ok() {
        return Some(("a private key", Grade::Certain));
    }
    if is_client_certificate(&bytes) {
        return Some(("a client certificate", Grade::Certain));
    }
    let text = std::str::from_utf8(&bytes).ok()?;
    let leaks = scan::leaks_within(text, depth + 1);
    let surest = leaks.into_iter().max_by_key(|leak| leak.grade)?;
    Some((surest.kind, surest.grade))
}

/// Merges overlapping finds into the most certain one; among equals, into the first.
fn without_overlaps(mut finds: Vec<Find>) -> Vec<Find> {
    finds.sort_by_key(|find| find.range.start);
    let mut disjoint: Vec<Find> = Vec::new();
    for find in finds {
        match disjoint.last_mut() {
            Some(last) if find.range.start < last.range.end => {
                let range = last.range.start..last.range.end.max(find.range.end);
                if find.grade > last.grade {
                    *last = find;
                }
                last.range = range;
            }
            _ => disjoint.push(find),
        }
    }
    disjoint
}
