use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::{collection, prelude::*, sample::select};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::{scan::leaks_in_value, *};
use crate::redact::{redact_value, without_credentials};

const WEB_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJNQUdQSUUifQ.TUFHUElFTUFHUElFTUFHUElF";

const PRIVATE_KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nTUFHUElFIG9wZW5zIG5vdGhpbmcsIGZvciBhbiBleGFtcGxlTUFHUElF\n-----END EC PRIVATE KEY-----\n";

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n    token: m4gpie/Mm\n";

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

/// The credentials of the table that are recognizable there, with their kinds.
fn credentials(place: &str) -> Vec<(String, &'static str)> {
    let repeat = Regex::new(r"\{(\w+?%?\w*)\*(\d+)\}").expect("a pattern");
    let times = |captures: &Captures| captures[1].repeat(captures[2].parse().expect("a number"));
    let of_row = |row: &'static str| {
        let (kind, text) = row.strip_prefix(place)?.trim_start().split_once('\t')?;
        Some((repeat.replace_all(text, times).into_owned(), kind))
    };
    rows(include_str!("examples/credentials.tsv"))
        .filter_map(of_row)
        .collect()
}

/// Credentials that are recognizable within prose, with their kinds.
fn phrases() -> Vec<(String, &'static str)> {
    let base64 = |text: &str| BASE64_STANDARD.encode(text);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = client_certificate();
    let mut phrases = credentials("phrase");
    phrases.extend([
        (PRIVATE_KEY.to_owned(), "a private key"),
        (PRIVATE_KEY.replace('\n', "\\n"), "a private key"),
        (BASE64_STANDARD.encode(key.serialize_der()), "a private key"),
        (base64(PRIVATE_KEY), "a private key"),
        (base64(WEB_TOKEN), "a JSON web token"),
        (base64(KUBECONFIG), "a token"),
        (base64(&base64(KUBECONFIG)), "a token"),
        (certificate.replace('\n', "\\n"), "a client certificate"),
        (base64(&certificate), "a client certificate"),
        (certificate, "a client certificate"),
    ]);
    let in_url = PRIVATE_KEY.replace('\n', "%0A").replace(' ', "%20");
    let in_form = in_url
        .replace("%0A", "%0D%0A")
        .replace("%20", "+")
        .replace('-', "%2D");
    phrases.extend([(in_url, "a private key"), (in_form, "a private key")]);
    phrases
}

/// A certificate that only a client can use, in PEM.
fn client_certificate() -> String {
    certificate(&[rcgen::ExtendedKeyUsagePurpose::ClientAuth])
}

fn certificate(usages: &[rcgen::ExtendedKeyUsagePurpose]) -> String {
    let mut params = rcgen::CertificateParams::new(vec!["magpie.example".to_owned()]).expect("a name");
    params.extended_key_usages = usages.to_vec();
    pem(params)
}

fn pem(params: rcgen::CertificateParams) -> String {
    let key = rcgen::KeyPair::generate().expect("a key");
    params.self_signed(&key).expect("a certificate").pem()
}

/// Credentials that only a whole document reveals.
fn documents() -> Vec<(String, &'static str)> {
    let mut documents = credentials("document");
    documents.push((KUBECONFIG.to_owned(), "a token"));
    documents
}

fn assert_leak(kind: &str, text: &str) {
    let leaks = leaks_in_text(text);
    let is_certain = |leak: &Leak| leak.grade == Grade::Certain && leak.kind == kind;
    assert!(leaks.iter().any(is_certain), "{kind} in {text}: {leaks:?}");
}

#[test]
fn credentials_are_found_in_each_context() {
    for (credential, kind) in phrases() {
        assert_leak(kind, &format!("it says {credential} of it"));
        assert_leak(kind, &BASE64_STANDARD.encode(format!("it says: {credential}\n")));
    }
    for (credential, kind) in phrases().into_iter().chain(documents()) {
        assert_leak(kind, &credential);
        assert_leak(kind, &format!("\n{credential}\n"));
        assert_leak(kind, &json!({"a": [{"b": credential}]}).to_string());
        let in_json = json!({"b": credential}).to_string();
        assert_leak(kind, &json!({"a": in_json}).to_string());
        let encoded = BASE64_STANDARD.encode(format!("{credential}{}", "\n".repeat(24)));
        assert_leak(kind, &encoded);
        assert_leak(kind, &format!("first: line\nsecond: {encoded}\n"));
    }
}

#[test]
fn redacted_text_has_no_credential() {
    for (credential, kind) in phrases().into_iter().chain(documents()) {
        for text in [
            credential.clone(),
            format!("it says {credential} of it"),
            json!({"a": credential}).to_string(),
        ] {
            let clean = without_credentials(&text);
            let secrets = [
                "magpie", "MAGPIE", "s3cret", "hunter2", "m4gpie", "TUFHUElF", "LS0t", "bWFncGll",
            ];
            for secret in secrets.into_iter().chain([credential.as_str()]) {
                assert!(!clean.contains(secret), "{kind}: {clean}");
            }
        }
    }
}

#[test]
fn leak_describes_a_credential_without_its_value() {
    let document = json!({"users": [{"name": "u", "user": {"token": "magpie-Key-7"}}]});
    let leaks = leaks_in_value(&document);
    let expected = Leak {
        kind: "a token",
        grade: Grade::Certain,
        length: 12,
        place: ".users[0].user.token".to_owned(),
        encoded: false,
        key: Some("token".to_owned()),
        at: None,
    };
    assert_eq!(leaks, [expected]);
    let leaks = leaks_in_text(&BASE64_STANDARD.encode(PRIVATE_KEY));
    assert!(leaks[0].encoded && leaks[0].place.is_empty(), "{leaks:?}");
    // One credential is reported once, as the most certain kind.
    assert_eq!(leaks_under("token", WEB_TOKEN).len(), 1);
    assert_eq!(leaks_under("token", WEB_TOKEN)[0].kind, "a JSON web token");
}

fn surest(leaks: Vec<Leak>) -> Option<Grade> {
    leaks.into_iter().map(|leak| leak.grade).max()
}

/// A document is rated alike as a value and as text, and redacted if it holds anything.
fn assert_grade(document: &Value, expected: Option<Grade>) {
    let text = document.to_string();
    assert_eq!(surest(leaks_in_value(document)), expected, "{text}");
    assert_eq!(surest(leaks_in_text(&text)), expected, "{text}");
    let is_redacted = redact_value(&mut document.clone());
    assert_eq!(is_redacted, expected.is_some(), "{text}");
}

#[test]
fn names_and_values_of_fields_are_rated() {
    for row in rows(include_str!("examples/grades.tsv")) {
        let (grade, document) = row.split_once('\t').expect("a grade and a document");
        let document = document.replace("$ID", "2b3cq5hf8j4k2l1m9n0p7q6r5s4t3u2v");
        let expected = match grade {
            "certain" => Some(Grade::Certain),
            "possible" => Some(Grade::Possible),
            _ => None,
        };
        assert_grade(&serde_json::from_str(&document).expect("JSON"), expected);
    }
}

#[test]
fn certificates_and_documents_are_rated() {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = pem(params);
    let of_server = certificate(&[rcgen::ExtendedKeyUsagePurpose::ServerAuth]);
    let harmless = json!({"caCertificate": authority, "serverCert": of_server});
    assert_grade(&harmless, None);
    let login = BASE64_STANDARD.encode("magpie:s3cret");
    let docker = json!({"auths": {"registry.example": {"auth": login}}}).to_string();
    for document in [
        json!({"clientCertificate": certificate(&[])}),
        json!({"clientCert": BASE64_STANDARD.encode(certificate(&[]))}),
        json!({"anything": client_certificate()}),
        json!({".dockerconfigjson": BASE64_STANDARD.encode(&docker)}),
        json!({"config": docker}),
        json!({"jwt": WEB_TOKEN}),
        json!([{"name": "Authorization", "value": format!("Basic {login}")}]),
    ] {
        assert_grade(&document, Some(Grade::Certain));
    }
}

#[test]
fn number_has_a_place_and_a_length() {
    let document = json!({"users": [{"password": 31415926}]});
    assert_eq!(leaks_in_value(&document)[0].place, ".users[0].password");
    let leaks = leaks_in_text("users:\n- name: u\n  password: 31415926\n");
    assert_eq!((leaks[0].grade, leaks[0].length), (Grade::Certain, 8));
}

#[test]
fn leak_has_the_key_and_the_place() {
    let text = format!("{} and then DB_PASSWORD=magpie-7 follows", "é".repeat(80));
    let leaks = leaks_in_text(&text);
    assert_eq!(leaks[0].key.as_deref(), Some("DB_PASSWORD"));
    assert_eq!(leaks[0].at, Some(80 + " and then DB_PASSWORD=".len() + 1));
    let leaks = leaks_in_value(&json!(["get-token", "--password", "magpie"]));
    assert_eq!((leaks[0].key.as_deref(), leaks[0].at), (Some("password"), None));
    // A credential that is recognized by its form, in a short text.
    let leaks = leaks_in_text(WEB_TOKEN);
    assert_eq!((leaks[0].key.as_deref(), leaks[0].at), (None, None));
}

#[test]
fn random_word_after_token_is_redacted_and_not_a_finding() {
    let text = "the member rejects token 3f2c9a8b7d6e5f4a3f2c9a8b of secret fleet/member-1-3f2c9a8b7d6e5f4a";
    assert_eq!(leaks_in_text(text), []);
    let expected = "the member rejects token … of secret fleet/member-1-3f2c9a8b7d6e5f4a";
    assert_eq!(without_credentials(text), expected);
}

#[test]
fn harmless_text_gives_nothing() {
    let certificate = rcgen::generate_simple_self_signed(["a.example".to_owned()]).expect("a certificate");
    let pem = certificate.cert.pem();
    let encoded = [
        BASE64_STANDARD.encode(&pem),
        BASE64_STANDARD.encode(certificate.cert.der()),
    ];
    let rows = rows(include_str!("examples/harmless.txt")).map(|row| row.replace("\\n", "\n"));
    for text in rows.chain(encoded).chain([pem]) {
        assert_eq!(leaks_in_text(&text), [], "{text}");
    }
}

/// Words, names, and numbers of ordinary profiles.
fn ordinary() -> impl Strategy<Value = String> {
    let texts = rows(include_str!("examples/ordinary.txt")).map(|row| row.replace("\\n", "\n"));
    let texts: Vec<String> = texts.collect();
    prop_oneof![
        3 => select(texts),
        1 => any::<u128>().prop_map(|n| {
            let hex = format!("{n:032x}");
            format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
        }),
        1 => collection::vec(any::<u8>(), 32).prop_map(|bytes| bytes.iter().map(|b| format!("{b:02x}")).collect()),
        1 => collection::vec(any::<u8>(), 20..80).prop_map(|bytes| format!("sha256-{}", BASE64_STANDARD.encode(bytes))),
        1 => "[a-z]([-a-z0-9]{0,20}[a-z0-9])?",
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn ordinary_text_gives_nothing(words in collection::vec(ordinary(), 1..8)) {
        let text = words.join(" ");
        prop_assert_eq!(leaks_in_text(&text), []);
        let document = json!({"clusterName": text, "items": words, "message": {"text": text}});
        prop_assert_eq!(leaks_in_value(&document), []);
        prop_assert_eq!(leaks_in_text(&document.to_string()), []);
    }

    #[test]
    fn credential_between_words_is_found_and_redacted(
        before in collection::vec(ordinary(), 0..4),
        after in collection::vec(ordinary(), 0..4),
        credential in select(phrases()),
    ) {
        let (credential, _) = credential;
        let text = format!("{} | {credential} | {}", before.join(" "), after.join(" "));
        prop_assert!(leaks_in_text(&text).iter().any(|leak| leak.grade == Grade::Certain), "{}", text);
        let clean = without_credentials(&text);
        prop_assert!(!clean.contains(&credential), "{}", clean);
    }

    #[test]
    fn no_text_makes_the_scan_panic(text in "\\PC{0,200}", bytes in collection::vec(any::<u8>(), 0..200)) {
        let strange = String::from_utf8_lossy(&bytes).into_owned();
        for text in [text, strange] {
            leaks_in_text(&text);
            without_credentials(&text);
        }
    }
}

#[test]
fn hostile_text_is_scanned_quickly() {
    let nested = (0..40).fold(PRIVATE_KEY.to_owned(), |text, _| match text.len() {
        0..12_000 => json!({"a": text}).to_string(),
        _ => text,
    });
    let mut encoded = "token: x\n".repeat(500);
    for _ in 0..6 {
        encoded = BASE64_STANDARD.encode(&encoded);
    }

    for text in [
        "a".repeat(1 << 15),
        "token=".repeat(5_000),
        "key=".repeat(1 << 13),
        "auth=".repeat(1 << 13),
        "auth:".repeat(1 << 12),
        format!("{}redacted", "token=".repeat(80)).repeat(1 << 6),
        "//a@".repeat(8_000),
        "eyJ".repeat(10_000),
        "-----BEGIN PRIVATE KEY-----".repeat(1_000),
        "[".repeat(1 << 15),
        format!("a: &a [x]\nb: {}", "*a ".repeat(10_000)),
        nested,
        encoded,
    ] {
        leaks_in_text(&text);
        without_credentials(&text);
    }
}
