//! `--bundle`: a run in one archive. It is a `.tgz`: GitHub takes that with an issue, and each system can unpack it.

use std::{fmt::Write as _, io};

use flate2::{Compression, write::GzEncoder};
use judge::{Selection, rules::Basis};
use report::{
    Report,
    bundle::{FOLDER, files},
};
use tar::{Builder, Header};

/// Packs a run. The same report gives the same bytes.
///
/// # Errors
/// When evidence cannot be written and read back, or `into` fails.
pub fn write(report: &Report, into: impl io::Write) -> io::Result<()> {
    let mut archive = Builder::new(GzEncoder::new(into, Compression::default()));
    let at = u64::try_from(report.judged_at.as_second()).unwrap_or_default();
    for file in files(report, &arguments(report.selection))? {
        let mut header = Header::new_gnu();
        header.set_size(file.content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(at);
        archive.append_data(&mut header, format!("{FOLDER}/{}", file.name), &*file.content)?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// The arguments that select the same rules. What a run takes as a filter is a part of a rule's id.
fn arguments(selection: &Selection) -> String {
    let Selection {
        filters,
        skip,
        exact,
        basis,
    } = selection;
    let mut arguments = String::new();
    for filter in filters {
        let _ = write!(arguments, " {filter}");
    }
    for filter in skip {
        let _ = write!(arguments, " --skip {filter}");
    }
    if *exact {
        arguments += " --exact";
    }
    if *basis == Some(Basis::Explicit) {
        arguments += " --basis explicit";
    }
    arguments
}
