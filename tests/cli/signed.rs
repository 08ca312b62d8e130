//! Signed reports: what `report sign` leaves, and whom `report verify` and the board show.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Done, Folder, call, command, done, expect, refused};

/// A key of the tests.
fn key(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/keys");
    folder.join(name).display().to_string()
}

/// Calls it with that password.
fn with_password(password: &str, arguments: &[&str]) -> Done {
    done(command(arguments).env("COSIGN_PASSWORD", password))
}

impl Folder {
    /// A report and its evidence.
    fn signable(&self) -> (String, String) {
        let (report, evidence) = (self.flag("report.yaml"), self.flag("evidence.jsonl"));
        expect(
            0,
            &[
                "run",
                "--from",
                "conforming.yaml",
                "--report",
                &report,
                "--record",
                &evidence,
            ],
        );
        (report, evidence)
    }

    /// Signs the report and the evidence with openssl's key.
    fn sign(&self) -> String {
        let (report, evidence) = (self.flag("report.yaml"), self.flag("evidence.jsonl"));
        let key = key("openssl-ed25519.key");
        expect(
            0,
            &["report", "sign", &report, "--key", &key, "--evidence", &evidence],
        )
    }
}

#[test]
fn a_signed_report_is_vouched_for_by_the_key_s_name() {
    let folder = Folder::new();
    let (report, evidence) = folder.signable();
    let told = folder.sign();
    assert!(
        told.contains("report.yaml.intoto.json signs report.yaml, evidence.jsonl with the key sha256:"),
        "{told}"
    );
    let envelope = folder.json("report.yaml.intoto.json");
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");

    let own = key("openssl-ed25519.pub");
    let verify = [
        "report",
        "verify",
        &report,
        &evidence,
        "--key",
        &key("cosign.pub"),
        "--key",
        &own,
    ];
    let told = expect(0, &verify);
    assert!(
        told.contains("vouched for: openssl-ed25519 signed report.yaml, evidence.jsonl (key sha256:"),
        "{told}"
    );
    assert!(!told.contains("cosign"), "{told}");
    // Without a key, nothing is said of signatures.
    assert!(!expect(0, &["report", "verify", &report, &evidence]).contains("vouched"));

    let told = expect(
        1,
        &[
            "report",
            "verify",
            &report,
            &evidence,
            "--key",
            &key("cosign.pub"),
        ],
    );
    assert!(
        told.contains("holds: ")
            && told.contains("not vouched for: no signature verifies with a key that was given"),
        "{told}"
    );

    // Spaces change the file, not what it says.
    fs::write(folder.path("report.yaml"), folder.text("report.yaml") + "\n").expect("written");
    let told = expect(1, &["report", "verify", &report, &evidence, "--key", &own]);
    assert!(
        told.contains("holds: ") && told.contains("not vouched for: it signs another report"),
        "{told}"
    );
    folder.sign();
    fs::write(
        folder.path("evidence.jsonl"),
        folder.text("evidence.jsonl") + "\n",
    )
    .expect("written");
    let told = expect(1, &["report", "verify", &report, &evidence, "--key", &own]);
    assert!(
        told.contains("not vouched for: it signs other evidence: the SHA-256 of evidence.jsonl"),
        "{told}"
    );
}

#[test]
fn passwords_come_from_the_environment_alone() {
    let folder = Folder::new();
    let (report, evidence) = folder.signable();
    for (private, public) in [("cosign.key", "cosign.pub"), ("minisign.key", "minisign.pub")] {
        let output = folder.flag(private);
        let (private, public) = (key(private), key(public));
        let sign = ["report", "sign", &report, "--key", &private, "--output", &output];
        let closed = call(&sign);
        assert_eq!(closed.code, Some(2), "{}", closed.err);
        assert!(closed.err.contains("set COSIGN_PASSWORD"), "{}", closed.err);
        let wrong = with_password("not-this-one", &sign);
        assert_eq!(wrong.code, Some(2), "{}", wrong.err);
        assert!(
            wrong.err.contains("the password is wrong") && !wrong.err.contains("not-this-one"),
            "{}",
            wrong.err
        );
        assert!(!Path::new(&output).exists());
        let signed = with_password("throw-away", &sign);
        assert_eq!(signed.code, Some(0), "{}", signed.err);
        let verify = [
            "report",
            "verify",
            &report,
            &evidence,
            "--key",
            &public,
            "--signature",
            &output,
        ];
        assert!(expect(0, &verify).contains(" signed report.yaml (key "));
    }
    // Minisign's users pass the line.
    let text = fs::read_to_string(key("minisign.pub")).expect("a key");
    let line = text.lines().nth(1).expect("the line");
    let signature = folder.flag("minisign.key");
    let told = expect(
        0,
        &[
            "report",
            "verify",
            &report,
            &evidence,
            "--key",
            line,
            "--signature",
            &signature,
        ],
    );
    assert!(
        told.contains(&format!("vouched for: {line} signed report.yaml")),
        "{told}"
    );
}

#[test]
fn what_cannot_sign_or_verify_is_refused() {
    let folder = Folder::new();
    let (report, evidence) = folder.signable();
    let sign = |name: &str, told: &[&str]| refused(&["report", "sign", &report, "--key", &key(name)], told);
    sign(
        "cosign.pub",
        &["--key", "cosign.pub cannot be used", "it is a public key"],
    );
    sign("rsa.key", &["(RSA)", "use ECDSA P-256 or Ed25519"]);
    sign("missing.key", &["missing.key cannot be used"]);
    sign("README.md", &["no key of a known format"]);
    refused(
        &["report", "sign", "conforming.yaml", "--key", &key("cosign.key")],
        &["it is no report"],
    );
    assert!(!folder.path("report.yaml.intoto.json").exists());

    let verify = |name: &str, told: &[&str]| {
        refused(
            &["report", "verify", &report, &evidence, "--key", &key(name)],
            told,
        )
    };
    verify(
        "cosign.pub",
        &["failed to read the signature", "report.yaml.intoto.json"],
    );
    verify("cosign.key", &["it is a private key"]);
    verify("rsa.pub", &["(RSA)"]);
    refused(
        &["report", "verify", &report, &evidence, "--signature", &report],
        &["--key"],
    );
    folder.sign();
    let signature = folder.text("report.yaml.intoto.json");
    fs::write(folder.path("report.yaml.intoto.json"), &signature[..100]).expect("written");
    verify(
        "cosign.pub",
        &[
            "report.yaml.intoto.json",
            "it is no DSSE envelope: EOF while parsing",
        ],
    );
    fs::write(folder.path("report.yaml.intoto.json"), " ".repeat(2 << 20)).expect("written");
    verify("cosign.pub", &["report.yaml.intoto.json", "more than 1"]);

    // A secret that was pasted where a file belongs gets into no message.
    let secret = fs::read_to_string(key("minisign-plain.key")).expect("a key");
    let secret = secret.lines().nth(1).expect("the line");
    for arguments in [
        &["report", "sign", &report][..],
        &["report", "verify", &report, &evidence],
    ] {
        let told = call(&[arguments, &["--key", secret]].concat());
        assert_eq!(told.code, Some(2), "{}", told.err);
        assert!(!told.err.contains(&secret[..20]), "{}", told.err);
    }
}

#[test]
fn a_report_that_contradicts_itself_is_not_signed() {
    let folder = Folder::new();
    let (report, _) = folder.signable();
    let text = folder
        .text("report.yaml")
        .replacen("decision: no-violation", "decision: conformant", 1);
    fs::write(folder.path("report.yaml"), text).expect("written");
    refused(
        &["report", "sign", &report, "--key", &key("openssl-p256.key")],
        &["contradicts itself", "decision"],
    );
}

#[test]
fn the_board_shows_who_vouches_and_nobody_for_what_does_not_hold() {
    let folder = Folder::new();
    let place = |name: &str| folder.flag(&format!("reports/{name}/v1.0.0"));
    for name in ["signed", "stolen", "broken", "silent"] {
        fs::create_dir_all(place(name)).expect("created");
        let (report, evidence) = (place(name) + "/report.yaml", place(name) + "/evidence.jsonl");
        expect(
            0,
            &[
                "run",
                "--from",
                "conforming.yaml",
                "--report",
                &report,
                "--record",
                &evidence,
            ],
        );
        if name == "signed" {
            expect(
                0,
                &[
                    "report",
                    "sign",
                    &report,
                    "--evidence",
                    &evidence,
                    "--key",
                    &key("openssl-p256.key"),
                ],
            );
        }
    }
    let signature = |name: &str| PathBuf::from(place(name) + "/report.yaml.intoto.json");
    fs::copy(signature("signed"), signature("stolen")).expect("copied");
    // The same report signed at the same second would be the same file.
    let other = PathBuf::from(place("stolen") + "/report.yaml");
    fs::write(&other, fs::read_to_string(&other).expect("a report") + "\n").expect("written");
    fs::write(signature("broken"), "{").expect("written");

    let (reports, own) = (folder.flag("reports"), key("openssl-p256.pub"));
    let told = expect(1, &["report", "verify", "--dir", &reports, "--key", &own]);
    assert!(
        told.contains("signed/v1.0.0, vouched for by openssl-p256\n"),
        "{told}"
    );
    assert_eq!(told.matches("vouched").count(), 1, "{told}");
    assert_eq!(told.matches("the signature does not count").count(), 2, "{told}");
    let told = expect(
        1,
        &["report", "verify", "--dir", &reports, "--key", &own, "--markdown"],
    );
    assert_eq!(
        told.matches("; vouched for by openssl-p256 |").count(),
        1,
        "{told}"
    );
    assert!(!expect(0, &["report", "verify", "--dir", &reports]).contains("signature"));

    expect(
        0,
        &[
            "report",
            "site",
            &reports,
            "--out",
            &folder.flag("site"),
            "--key",
            &own,
        ],
    );
    let page = |name: &str| folder.text(&format!("site/implementations/{name}/index.html"));
    assert!(page("signed").contains("vouched for by openssl-p256"));
    for name in ["stolen", "broken", "silent"] {
        assert!(!page(name).contains("vouched"), "{name}");
        assert_eq!(
            page(name).contains("signature does not count"),
            name != "silent",
            "{name}"
        );
    }
    let report = folder.text("site/implementations/stolen/unversioned-standard/index.html");
    assert!(
        report.contains("the signature does not count: it signs another report"),
        "{report}"
    );
    expect(0, &["report", "site", &reports, "--out", &folder.flag("without")]);
    let page = folder.text("without/implementations/signed/index.html");
    assert!(!page.contains("vouched"), "no key was named");
}

/// What the page has readers copy works, with keys at hand instead of openssl's.
#[test]
fn the_first_use_in_the_documents_works() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reports.md")).expect("the page");
    let (_, section) = page.split_once("## Sign a report").expect("the section");
    let block = section
        .lines()
        .skip_while(|line| !line.starts_with("    "))
        .take_while(|line| !line.is_empty());
    let folder = Folder::new();
    for (from, to) in [
        ("openssl-ed25519.key", "me.key"),
        ("openssl-ed25519.pub", "me.pub"),
    ] {
        fs::copy(key(from), folder.path(to)).expect("copied");
    }
    let mut last = String::new();
    for line in block {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command");
        if program == "openssl" {
            continue;
        }
        assert_eq!(program, "clusterprofile-conformance");
        let mut one = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
        let told = done(
            one.args(words)
                .current_dir(folder.path(""))
                .env("HOME", "/nonexistent"),
        );
        assert_eq!(told.code, Some(0), "{line}\n{}{}", told.out, told.err);
        last = told.out;
    }
    assert!(
        last.contains("vouched for: me signed report.yaml, evidence.jsonl.zst (key sha256:"),
        "{last}"
    );
}
