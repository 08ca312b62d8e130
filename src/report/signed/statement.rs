//! The in-toto Statement about a report: which files it is about, and how the rules came out.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use evidence::api::Edition;
use judge::{Decision, Verdict};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::submitted::{Document, Inconsistent};

/// The type of a Statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The types of Statements that are read; cosign 2 writes the older one.
pub(super) const STATEMENTS: [&str; 2] = [STATEMENT, "https://in-toto.io/Statement/v0.1"];

/// The type of the predicate: what came of a run of tests.
pub(super) const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The release whose rules judged.
const RELEASE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/releases/tag/v");

/// A Statement.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    #[serde(rename = "_type")]
    pub(super) kind: String,
    pub(super) subject: Vec<Subject>,
    pub(super) predicate_type: String,
    pub(super) predicate: serde_json::Value,
}

/// A file that a Statement is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name, without the folder.
    #[serde(default)]
    pub name: String,
    digest: BTreeMap<String, String>,
}

/// The predicate.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    result: Outcome,
    configuration: [Configuration; 1],
    passed_tests: Vec<String>,
    warned_tests: Vec<String>,
    failed_tests: Vec<String>,
}

/// By what was judged.
#[derive(Debug, Serialize)]
struct Configuration {
    name: &'static str,
    uri: String,
    annotations: BTreeMap<&'static str, Edition>,
}

/// The outcome of a run of tests, in in-toto's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Outcome {
    Passed,
    Warned,
    Failed,
}

impl Outcome {
    /// The outcome of a report: as a run with such a report ends, and passed only if nothing is left to say.
    pub(super) fn of(document: &Document) -> Self {
        let mut groups = document
            .suites
            .iter()
            .flat_map(|suite| suite.core.iter().chain(&suite.extended));
        match document.decision {
            Decision::NotConformant | Decision::Inconclusive => Self::Failed,
            Decision::Conformant if groups.all(|group| group.warned_rules.is_empty()) => Self::Passed,
            Decision::Conformant | Decision::NoViolation => Self::Warned,
        }
    }
}

impl Statement {
    /// States what a report says, about these files: the report and its evidence.
    ///
    /// # Errors
    /// When the report contradicts itself.
    pub fn of(document: &Document, files: Vec<Subject>) -> Result<Self, Inconsistent> {
        let entries = document.entries()?;
        let rules = |verdicts: &[Verdict]| {
            let own = entries.iter().filter(|entry| verdicts.contains(&entry.verdict));
            own.map(|entry| entry.rule.clone()).collect()
        };
        let predicate = TestResult {
            result: Outcome::of(document),
            configuration: [Configuration {
                name: crate::COMMAND,
                uri: format!("{RELEASE}{}", document.suite_version),
                annotations: BTreeMap::from([("edition", document.edition)]),
            }],
            passed_tests: rules(&[Verdict::Pass]),
            warned_tests: rules(&[Verdict::Warn, Verdict::Waived]),
            failed_tests: rules(&[Verdict::Fail]),
        };
        Ok(Self {
            kind: STATEMENT.to_owned(),
            subject: files,
            predicate_type: TEST_RESULT.to_owned(),
            predicate: serde_json::to_value(predicate).expect("it has text alone"),
        })
    }
}

impl Subject {
    /// A file with that content.
    pub fn of(path: &Path, content: &[u8]) -> Self {
        Self::new(path, sha256(content))
    }

    /// A file with at most so many bytes, of whatever kind.
    ///
    /// # Errors
    /// When it cannot be read, or has more bytes.
    pub fn read(path: &Path, most: u64) -> io::Result<Self> {
        let mut file = File::open(path)?.take(most.saturating_add(1));
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 if file.limit() == 0 => {
                    return Err(io::Error::other(format!("it has more than {most} bytes")));
                }
                0 => break,
                read => digest.update(&buffer[..read]),
            }
        }
        Ok(Self::new(path, hex(&digest.finalize())))
    }

    fn new(path: &Path, sha256: String) -> Self {
        // The names of folders may reveal the machine and its user.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            name: name.into_owned(),
            digest: BTreeMap::from([("sha256".to_owned(), sha256)]),
        }
    }

    /// Whether both are the same file, whatever it is called.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self.digest.get("sha256"), other.digest.get("sha256")) {
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            _ => false,
        }
    }
}

/// The SHA-256 in hexadecimal.
pub(super) fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
