//! What signatures promise: keys of other tools sign and verify as those tools do, and nothing but the signed files is
//! vouched for.

use std::{cell::Cell, path::Path, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::submitted::Document;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/keys/", $name))
    };
}

const PASSWORD: &str = "throw-away";

const REPORT: &str = fixture!("report.yaml");
const EVIDENCE: &str = fixture!("evidence.jsonl");
const BY_COSIGN: &str = fixture!("by-cosign.json");

const COSIGN: &str = fixture!("cosign.pub");
const P256: &str = fixture!("openssl-p256.pub");
const ED25519: &str = fixture!("openssl-ed25519.pub");
const MINISIGN: &str = fixture!("minisign.pub");
const PLAIN: &str = fixture!("minisign-plain.pub");
const PUBLIC: [&str; 5] = [COSIGN, P256, ED25519, MINISIGN, PLAIN];

fn open(text: &str) -> Result<PrivateKey, KeyError> {
    PrivateKey::parse(text, || Ok::<_, KeyError>(PASSWORD))
}

fn named(name: &str, key: &str) -> NamedKey {
    NamedKey {
        name: name.to_owned(),
        key: PublicKey::parse(key).expect("a public key"),
    }
}

fn report() -> (&'static Document, Subject) {
    static DOCUMENT: LazyLock<Document> = LazyLock::new(|| Document::parse(REPORT).expect("a report"));
    let subject = Subject::of(Path::new("any/report.yaml"), REPORT.as_bytes());
    (&DOCUMENT, subject)
}

fn evidence() -> Subject {
    Subject::of(Path::new("any/evidence.jsonl"), EVIDENCE.as_bytes())
}

/// Signs the report, and the evidence if that is wanted.
fn sign(key: &str, with_evidence: bool) -> String {
    let (document, report) = report();
    let files = [report].into_iter().chain(with_evidence.then(evidence));
    let statement = Statement::of(document, files.collect()).expect("a sound report");
    Envelope::sign(&statement, &open(key).expect("a private key")).expect("signed")
}

/// Verifies a signature of the report and the evidence by that key.
fn verify(envelope: &str, key: &str) -> Result<Vouched, NotVouched> {
    let (document, report) = report();
    vouched(
        envelope.as_bytes(),
        &[named("reviewer", key)],
        document,
        &report,
        &[evidence()],
    )
}

/// Why that is not vouched for.
fn refused(envelope: &str) -> String {
    verify(envelope, COSIGN).expect_err("not vouched for").to_string()
}

/// Changes a statement, and signs it with cosign's key.
fn restated(change: impl FnOnce(&mut Value)) -> String {
    let envelope: Value = serde_json::from_str(&sign(fixture!("cosign.key"), true)).expect("JSON");
    let payload = STANDARD
        .decode(envelope["payload"].as_str().expect("text"))
        .expect("base64");
    let mut statement: Value = serde_json::from_slice(&payload).expect("JSON");
    change(&mut statement);
    let statement = serde_json::from_value(statement).expect("a statement");
    Envelope::sign(&statement, &open(fixture!("cosign.key")).expect("a key")).expect("signed")
}

/// Changes the JSON of a valid envelope.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut envelope: Value = serde_json::from_str(BY_COSIGN).expect("JSON");
    change(&mut envelope);
    envelope.to_string()
}

#[rstest]
#[case::cosign(fixture!("cosign.key"), COSIGN)]
#[case::cosign_of_old(fixture!("cosign-old.key"), COSIGN)]
#[case::p256(fixture!("openssl-p256.key"), P256)]
#[case::ed25519(fixture!("openssl-ed25519.key"), ED25519)]
#[case::minisign(fixture!("minisign.key"), MINISIGN)]
#[case::minisign_without_a_password(fixture!("minisign-plain.key"), PLAIN)]
fn each_key_signs_for_its_public_key_alone(#[case] private: &str, #[case] public: &str) {
    let envelope = sign(private, true);
    let own = open(private).expect("a key").public();
    assert_eq!(own, PublicKey::parse(public).expect("a key"));
    for other in PUBLIC {
        match verify(&envelope, other) {
            Ok(vouched) => {
                assert_eq!(other, public);
                assert_eq!(vouched.by, [("reviewer".to_owned(), own.id())]);
                assert_eq!(vouched.files, ["report.yaml", "evidence.jsonl"]);
            }
            Err(error) => {
                assert_ne!(other, public, "{error}");
                assert!(
                    !error.is_unusable() && error.to_string().contains("signed with another key"),
                    "{error}"
                );
            }
        }
    }
}

#[rstest]
#[case::by_cosign(BY_COSIGN, COSIGN)]
#[case::in_a_bundle_of_cosign(fixture!("by-cosign.bundle.json"), COSIGN)]
#[case::by_go_with_two_signatures(fixture!("by-go.json"), ED25519)]
fn signatures_of_other_tools_hold(#[case] envelope: &str, #[case] key: &str) {
    let vouched = verify(envelope, key).expect("vouched for");
    assert_eq!(vouched.names(), "reviewer");
    verify(envelope, P256).expect_err("another key");
}

#[test]
fn minisign_s_line_is_a_key_and_ids_are_those_of_openssl() {
    let line = MINISIGN.lines().nth(1).expect("the key");
    assert_eq!(PublicKey::parse(line), PublicKey::parse(MINISIGN));
    // openssl pkey -pubin -in FILE -outform DER | sha256sum
    for (key, id) in [
        (
            P256,
            "b8c17e3013189c5f0f1b612ed0190b55204fd02aa7e1b833ba716ccffc5ed6b4",
        ),
        (
            ED25519,
            "d2bdcad69cac73a4ba0447d629fdad5ee06556a279acb388ef56e7379b04f26f",
        ),
    ] {
        assert_eq!(PublicKey::parse(key).expect("a key").id(), format!("sha256:{id}"));
    }
}

#[rstest]
#[case::public(COSIGN, "it is a public key")]
#[case::public_of_minisign(MINISIGN, "it is a public key")]
#[case::rsa(fixture!("rsa.key"), "another algorithm (RSA): use ECDSA P-256 or Ed25519")]
#[case::p384(fixture!("p384.key"), "another algorithm: use")]
#[case::sec1(fixture!("sec1.key"), "openssl pkcs8 -topk8")]
#[case::pkcs8_with_a_password(fixture!("encrypted-pkcs8.key"), "cosign import-key-pair")]
#[case::empty("", "no key of a known format")]
#[case::a_report(REPORT, "no key of a known format")]
fn what_cannot_sign_is_told(#[case] text: &str, #[case] told: &str) {
    let error = open(text).expect_err("no private key").to_string();
    assert!(error.contains(told), "{error}");
}

#[rstest]
#[case::of_cosign(fixture!("cosign.key"), "it is a private key")]
#[case::of_openssl(fixture!("openssl-ed25519.key"), "it is a private key")]
#[case::of_minisign(fixture!("minisign-plain.key"), "it is a private key")]
#[case::sec1(fixture!("sec1.key"), "it is a private key")]
#[case::rsa(fixture!("rsa.pub"), "another algorithm (RSA)")]
#[case::empty("", "no key of a known format")]
#[case::an_envelope(BY_COSIGN, "no key of a known format")]
fn what_cannot_verify_is_told(#[case] text: &str, #[case] told: &str) {
    let error = PublicKey::parse(text).expect_err("no public key").to_string();
    assert!(error.contains(told), "{error}");
}

#[test]
fn a_wrong_password_opens_no_key_and_a_plain_key_asks_for_none() {
    for text in [fixture!("cosign.key"), fixture!("minisign.key")] {
        let opened = PrivateKey::parse(text, || Ok::<_, KeyError>("wrong"));
        assert_eq!(opened.expect_err("closed"), KeyError::Password);
    }
    for text in [
        fixture!("openssl-p256.key"),
        fixture!("minisign-plain.key"),
        fixture!("rsa.key"),
        COSIGN,
    ] {
        let asked = Cell::new(false);
        let _ = PrivateKey::parse(text, || {
            asked.set(true);
            Ok::<_, KeyError>(PASSWORD)
        });
        assert!(!asked.get());
    }
}

#[test]
fn a_key_cannot_ask_for_endless_memory() {
    let sealed = |n: u64, p: u32| {
        let sealed = json!({"kdf": {"name": "scrypt", "params": {"N": n, "r": 8, "p": p}, "salt": "AAAA"},
            "cipher": {"name": "nacl/secretbox", "nonce": STANDARD.encode([0; 24])}, "ciphertext": STANDARD.encode([0; 48])});
        pem::encode(&pem::Pem::new(
            "ENCRYPTED SIGSTORE PRIVATE KEY",
            sealed.to_string(),
        ))
    };
    assert_eq!(open(&sealed(16, 1)).expect_err("closed"), KeyError::Password);
    for (n, p) in [
        (1 << 40, 1),
        (u64::MAX, 1),
        (16, u32::MAX),
        (0, 1),
        (3, 1),
        (16, 0),
    ] {
        let error = open(&sealed(n, p)).expect_err("refused");
        assert!(matches!(error, KeyError::Encryption(_)), "{n} {p}: {error}");
    }
    // Minisign states its limits in the last bytes before the key.
    let line = fixture!("minisign.key").lines().nth(1).expect("the key");
    let mut key = STANDARD.decode(line).expect("base64");
    key[38..54].fill(0xff);
    let error = open(&STANDARD.encode(key)).expect_err("refused");
    assert!(matches!(error, KeyError::Encryption(_)), "{error}");
}

#[test]
fn nothing_but_what_was_signed_is_vouched_for() {
    let (document, report) = report();
    let keys = [named("reviewer", COSIGN)];
    let check = |envelope: &str, report: &Subject, evidence: &[Subject]| {
        let outcome = vouched(envelope.as_bytes(), &keys, document, report, evidence);
        outcome.map_err(|error| (error.is_unusable(), error.to_string()))
    };
    let other = Subject::of(Path::new("report.yaml"), b"another");
    let (unusable, told) = check(BY_COSIGN, &other, &[]).expect_err("another report");
    assert!(!unusable && told.contains("it signs another report"), "{told}");

    let both = sign(fixture!("cosign.key"), true);
    check(&both, &report, &[evidence()]).expect("as it was signed");
    check(&both, &report, &[]).expect("without the evidence");
    let other = Subject::of(Path::new("other.jsonl"), b"changed");
    let (unusable, told) = check(&both, &report, &[evidence(), other.clone()]).expect_err("other evidence");
    assert!(
        !unusable && told.contains("SHA-256 of other.jsonl is not among"),
        "{told}"
    );
    // The report itself names the SHA-256 of its evidence.
    check(&sign(fixture!("cosign.key"), false), &report, &[other]).expect("no evidence was signed");
}

#[test]
fn one_valid_signature_suffices_and_each_signer_is_named() {
    let json = |envelope: String| serde_json::from_str::<Value>(&envelope).expect("JSON");
    let of_another_payload = json(sign(fixture!("cosign.key"), false));
    let mut two = json(sign(fixture!("minisign-plain.key"), true));
    let signatures = two["signatures"].as_array_mut().expect("a list");
    signatures.insert(0, of_another_payload["signatures"][0].clone());
    let two = two.to_string();
    verify(&two, PLAIN).expect("the second holds");
    verify(&two, COSIGN).expect_err("the first is of another payload");
    let (document, report) = report();
    let keys = [named("ocm", P256), named("lab", PLAIN), named("again", PLAIN)];
    let told = vouched(two.as_bytes(), &keys, document, &report, &[]).expect("vouched for");
    assert_eq!(told.names(), "lab and again");
}

#[test]
fn what_is_no_signature_of_a_report_is_told() {
    let told = [
        (
            changed(|envelope| envelope["payloadType"] = json!("text/plain")),
            "its payloadType is `text/plain`",
        ),
        (
            changed(|envelope| envelope["payload"] = json!("%")),
            "the base64 of its payload is invalid",
        ),
        (
            changed(|envelope| envelope["signatures"] = json!([])),
            "it has 0 signatures",
        ),
        (
            changed(|envelope| envelope["signatures"] = json!(vec![json!({"sig": "AAAA"}); 65])),
            "it has 65 signatures",
        ),
        (
            changed(|envelope| envelope["signatures"][0]["sig"] = json!("AAAA")),
            "signed with another key",
        ),
        (
            restated(|statement| statement["_type"] = json!("https://example.com/v9")),
            "type `https://example.com/v9`",
        ),
        (
            restated(|statement| statement["predicateType"] = json!("https://slsa.dev/provenance/v1")),
            "test-result/v0.1",
        ),
        (
            restated(|statement| statement["predicate"] = json!([])),
            "no in-toto Statement",
        ),
        (
            restated(|statement| statement["predicate"]["result"] = json!("FAILED")),
            "says failed, and the report comes to warned",
        ),
        (
            restated(|statement| statement["subject"] = json!([{"digest": {"sha1": "00"}}])),
            "another report",
        ),
        ("{}".to_owned(), "it is no DSSE envelope: missing field"),
        (REPORT.to_owned(), "it is no DSSE envelope"),
    ];
    for (envelope, told) in told {
        let error = refused(&envelope);
        assert!(error.contains(told), "{told:?} is not in: {error}");
    }
    for end in 0..BY_COSIGN.trim_end().len() {
        let error = refused(&BY_COSIGN[..end]);
        assert!(error.starts_with("it is no DSSE envelope: "), "{end}: {error}");
    }
}

#[test]
fn base64_of_urls_and_unknown_fields_are_read() {
    let urls = changed(|envelope| {
        envelope["new"] = json!(1);
        envelope["signatures"][0]["keyid"] = json!("of nobody");
        for at in ["/payload", "/signatures/0/sig"] {
            let value = envelope.pointer_mut(at).expect("text");
            let text = value.as_str().expect("text").replace('+', "-").replace('/', "_");
            *value = json!(text.trim_end_matches('='));
        }
    });
    assert_ne!(urls, BY_COSIGN);
    verify(&urls, COSIGN).expect("vouched for");
}

#[test]
fn the_statement_says_what_the_report_says() {
    let mut stated = Value::Null;
    restated(|statement| stated = statement.clone());
    let (document, _) = report();
    assert_eq!(stated["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(
        stated["predicateType"],
        "https://in-toto.io/attestation/test-result/v0.1"
    );
    assert_eq!(stated["predicate"]["result"], "WARNED");
    assert_eq!(
        stated["predicate"]["configuration"][0]["annotations"]["edition"],
        document.edition.name()
    );
    let listed = |name: &str| stated["predicate"][name].as_array().expect("a list").len();
    let entries = document.entries().expect("sound");
    let passed = entries.iter().filter(|entry| entry.verdict.name() == "pass");
    assert_eq!(listed("passedTests"), passed.count());
    assert_eq!((listed("warnedTests"), listed("failedTests")), (0, 0));
}

/// Text that is nearly one of these: a byte is replaced, or the end is missing.
fn nearly(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let text = proptest::sample::select(texts);
    (
        text,
        any::<proptest::sample::Index>(),
        any::<char>(),
        any::<bool>(),
    )
        .prop_map(|(text, at, with, cut)| {
            let at = at.index(text.len() + 1);
            let (head, tail) = text.split_at(at.min(text.floor_char_boundary(at)));
            let rest = tail.chars().skip(1).collect::<String>();
            if cut {
                head.to_owned()
            } else {
                format!("{head}{with}{rest}")
            }
        })
}

const KEYS: &[&str] = &[
    COSIGN,
    ED25519,
    MINISIGN,
    fixture!("cosign.key"),
    fixture!("openssl-p256.key"),
    fixture!("openssl-ed25519.key"),
    fixture!("minisign.key"),
    fixture!("minisign-plain.key"),
];

proptest! {
    #[test]
    fn no_key_makes_the_parser_panic(text in prop_oneof![nearly(KEYS), any::<String>()]) {
        let _ = PublicKey::parse(&text);
        // Without a password, as scrypt would take its time.
        let _ = PrivateKey::parse(&text, || Err::<String, _>(KeyError::Unknown));
    }

    #[test]
    fn no_change_to_a_signature_goes_unnoticed(text in nearly(&[BY_COSIGN])) {
        if let Ok(told) = verify(&text, COSIGN) {
            // What is not signed may differ: spaces, and the id of the key.
            prop_assert_eq!(told.files, verify(BY_COSIGN, COSIGN).expect("it holds").files);
        }
    }

    #[test]
    fn no_envelope_makes_the_parser_panic(bytes in any::<Vec<u8>>()) {
        let _ = Envelope::parse(&bytes);
    }
}
