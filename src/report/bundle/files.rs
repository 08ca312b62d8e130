//! The files of a bundle.

use std::{io, path::Path};

use evidence::{Checksum, Digester, Evidence, Limits, file, read_packed};

use super::{hooks, readme};
use crate::{
    Report,
    formats::{json, markdown},
    html,
    submitted::{Held, compose, verify},
};

/// The folder that the archive unpacks to.
pub const FOLDER: &str = "conformance-bundle";

/// The evidence in it.
pub(super) const EVIDENCE: &str = "evidence.jsonl.zst";

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the folder.
    pub name: &'static str,
    /// What it holds.
    pub content: Vec<u8>,
    /// The same in a few words.
    pub about: &'static str,
}

/// What becomes of the report to submit when the bundle's evidence is judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It is in the bundle, and holds.
    Same,
    /// So many of its parts differ, so it is not in the bundle.
    Differs(usize),
    /// There is none, as the run judged two roles.
    TwoRoles,
}

/// Writes the files of a bundle. The evidence is without the credentials that objects hold by mistake; it is judged again,
/// and the report to submit is among the files only if it holds. `selecting` has the arguments by which a user selects the
/// same rules.
///
/// # Errors
/// When this build cannot pack evidence, or evidence cannot be read back.
pub fn files(report: &Report, selecting: &str) -> io::Result<Vec<File>> {
    let report = &Report {
        file: Some(EVIDENCE),
        place: None,
        ..*report
    };
    let mut packed = Vec::new();
    let (sum, redacted) = file::write_redacted(report.evidence, Path::new(EVIDENCE), &mut packed)?;
    let (again, submitted) = submitted(report, &sum, &packed)?;
    let mut files = vec![
        made(
            "report.html",
            "the report, for people: open it in a browser",
            |into| html::write(report, into),
        )?,
        made("report.md", "the same in Markdown", |into| {
            markdown::write(report, into)
        })?,
        made(
            "report.json",
            "the same for programs, with every finding",
            |into| json::write(report, into),
        )?,
    ];
    files.extend(submitted.map(|content| File {
        name: "report.yaml",
        content,
        about: "the report to submit, if `report verify` finds nothing in its way; it counts findings and names no object",
    }));
    files.push(File {
        name: EVIDENCE,
        content: packed,
        about: "all that the run saw, without credentials",
    });
    files.extend(hooks::printed(report.evidence).map(|text| File {
        name: "hooks.txt",
        content: text.into_bytes(),
        about: "the end of what the driver's hooks printed, without credentials",
    }));
    let readme = readme::text(report, selecting, (again, redacted), &files);
    files.insert(
        0,
        File {
            name: "README.md",
            content: readme.into_bytes(),
            about: "this file",
        },
    );
    Ok(files)
}

fn made(
    name: &'static str,
    about: &'static str,
    write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<File> {
    let mut content = Vec::new();
    write(&mut content)?;
    Ok(File { name, content, about })
}

/// The report to submit, if the evidence gives it when it is read back and judged again.
fn submitted(report: &Report, sum: &Checksum, packed: &[u8]) -> io::Result<(Again, Option<Vec<u8>>)> {
    if report.judgement.also.is_some() {
        return Ok((Again::TwoRoles, None));
    }
    let document = compose(report, Some(sum));
    let held = Held {
        evidence: read_back(packed)?,
        sum: sum.clone(),
    };
    let verified = verify(&document, held);
    if !verified.differences.is_empty() {
        return Ok((Again::Differs(verified.differences.len()), None));
    }
    let mut content = Vec::new();
    document.write(&mut content)?;
    Ok((Again::Same, Some(content)))
}

fn read_back(packed: &[u8]) -> io::Result<Evidence> {
    let packed = io::Cursor::new(packed.to_vec());
    // Evidence has digests, and no Secrets to make them of.
    let input = read_packed(packed, EVIDENCE, &Digester::new([0; 32]), &Limits::default());
    input.map(|input| input.evidence).map_err(io::Error::other)
}
