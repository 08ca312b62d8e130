//! Writes the evidence file.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use jiff::Timestamp;

use super::{
    change::Change,
    look::MemberLine,
    record::{Covers, FirstLine, FirstSliceLine, Gone, Line, SliceVersionLine},
};
use crate::{
    Evidence, FORMAT, Header, Member, ProfileHistory, SliceHistory,
    checksum::{Checksum, Summing},
};

/// Writes evidence for a file named `path`: packed if the name ends in `.zst`.
///
/// # Errors
/// When the system cannot write it.
pub fn write_named(evidence: &Evidence, path: &Path, into: impl Write) -> io::Result<()> {
    packed(path, into, |plain| write_to(evidence, plain))
}

/// Like [`write_named`], with the checksum of the unpacked content.
///
/// # Errors
/// When the system cannot write it.
pub fn write_summed(evidence: &Evidence, path: &Path, into: impl Write) -> io::Result<Checksum> {
    packed(path, into, |plain| {
        let mut summing = Summing::new(plain);
        write_to(evidence, &mut summing)?;
        Ok(summing.finish())
    })
}

/// Runs `write` with a writer for a file named `path`: a packing one if the name says so.
fn packed<T>(
    path: &Path,
    mut into: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    if path.extension().is_none_or(|extension| extension != "zst") {
        return write(&mut into);
    }
    encoded(into, write)
}

#[cfg(feature = "zstd")]
fn encoded<T>(into: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    /// Higher levels barely shrink the content and take much longer.
    const LEVEL: i32 = 3;
    let mut encoder = zstd::Encoder::new(into, LEVEL)?;
    let written = write(&mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(written)
}

#[cfg(not(feature = "zstd"))]
fn encoded<T>(_: impl Write, _: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this build cannot pack with zstd: choose a name that does not end in .zst",
    ))
}

/// Writes evidence as JSON Lines, in the format of this suite.
///
/// # Errors
/// When the system cannot write it.
pub fn write_to(evidence: &Evidence, writer: impl Write) -> io::Result<()> {
    let mut lines = Lines {
        writer: BufWriter::new(writer),
        are_later: false,
    };
    lines.put(&Line::Header(&Header {
        format: FORMAT.to_owned(),
        ..evidence.header.clone()
    }))?;
    // Gaps come first, so that a truncated file still has them.
    for gap in &evidence.gaps {
        lines.put(&Line::Gap(gap))?;
    }
    for unreadable in &evidence.unreadable {
        lines.put(&Line::Unreadable(unreadable))?;
    }
    // It lists the profiles that are not the implementation's work alone.
    if let Some(driver) = &evidence.driver {
        lines.put(&Line::Driver(driver))?;
    }
    for namespace in &evidence.namespaces {
        lines.put(&Line::Namespace(namespace))?;
    }
    for secret in &evidence.secrets {
        lines.put(&Line::Secret(secret))?;
    }
    for secret in &evidence.unlabelled_secrets {
        lines.put(&Line::UnlabelledSecret(secret))?;
    }
    for probe in &evidence.probes {
        lines.put(&Line::Probe(probe))?;
    }
    for history in &evidence.profiles {
        lines.put_history(history)?;
    }
    for history in &evidence.slices {
        lines.put_slice(history)?;
    }
    let later = &evidence.later;
    lines.are_later = true;
    for gap in &later.gaps {
        lines.put(&Line::Gap(gap))?;
    }
    for key in &later.missing {
        lines.put(&Line::Missing(key))?;
    }
    for history in &later.profiles {
        lines.put_history(history)?;
    }
    for history in &later.slices {
        lines.put_slice(history)?;
    }
    lines.are_later = false;
    for workload in &evidence.workloads {
        lines.put(&Line::Workload(workload))?;
    }
    for access in &evidence.consumer_access {
        lines.put(&Line::ConsumerAccess(access))?;
    }
    if let Some(requests) = &evidence.requests {
        lines.put(&Line::Requests(Covers {
            covers: requests.covers,
        }))?;
        for request in &requests.events {
            lines.put(&Line::Request(request))?;
        }
    }
    if let Some(requests) = &evidence.slice_requests {
        lines.put(&Line::SliceRequests(Covers {
            covers: requests.covers,
        }))?;
        for request in &requests.events {
            lines.put(&Line::SliceRequest(request))?;
        }
    }
    for member in &evidence.members {
        lines.put_member(member)?;
    }
    for call in &evidence.endpoint_calls {
        lines.put(&Line::EndpointCall(call))?;
    }
    for login in &evidence.logins {
        lines.put(&Line::Login(login))?;
    }
    lines.put(&Line::End {})?;
    lines.writer.flush()
}

struct Lines<W: Write> {
    writer: BufWriter<W>,
    /// Whether they tell of the time after the window.
    are_later: bool,
}

impl<W: Write> Lines<W> {
    fn put(&mut self, line: &Line<'_>) -> io::Result<()> {
        let line = if self.are_later { &Line::Later(line) } else { line };
        serde_json::to_writer(&mut self.writer, line)?;
        self.writer.write_all(b"\n")
    }

    fn put_member(&mut self, member: &Member) -> io::Result<()> {
        let (first, later) = MemberLine::of(member);
        self.put(&Line::Member(first))?;
        for look in later {
            self.put(&Line::Look(Box::new(look)))?;
        }
        Ok(())
    }

    fn put_history(&mut self, history: &ProfileHistory) -> io::Result<()> {
        // A history holds at least one version.
        let Some(first) = history.versions.first() else {
            return Ok(());
        };
        self.put(&Line::Profile(FirstLine {
            at: first.at,
            origin: history.origin,
            profile: &first.object,
        }))?;
        for (before, after) in history.steps() {
            let change = Change::between(&before.object, &after.object, after.at);
            self.put(&Line::Change(Box::new(change)))?;
        }
        self.put_end(history.deleted)
    }

    fn put_slice(&mut self, history: &SliceHistory) -> io::Result<()> {
        let Some((first, later)) = history.versions.split_first() else {
            return Ok(());
        };
        self.put(&Line::Slice(FirstSliceLine {
            at: first.at,
            origin: history.origin,
            slice: &first.object,
        }))?;
        for version in later {
            self.put(&Line::SliceVersion(SliceVersionLine {
                at: version.at,
                slice: &version.object,
            }))?;
        }
        self.put_end(history.deleted)
    }

    fn put_end(&mut self, deleted: Option<Timestamp>) -> io::Result<()> {
        match deleted {
            Some(at) => self.put(&Line::Gone(Gone { at })),
            None => Ok(()),
        }
    }
}
