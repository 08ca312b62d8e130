//! Writes the evidence file.

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{
    look::first_and_later,
    record::{Covers, First, Gone, Record, Recorded},
};
use crate::{
    Evidence, FORMAT, Header, History, Log,
    file::checksum::{Checksum, Summing},
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
    /// Higher levels barely shrink the content and take much longer.
    const LEVEL: i32 = 3;
    let mut encoder = zstd::Encoder::new(into, LEVEL)?;
    let written = write(&mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(written)
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
    lines.put(Record::Header(Box::new(Header {
        format: FORMAT.to_owned(),
        ..evidence.header.clone()
    })))?;
    // Gaps come first, so that a truncated file still has them.
    lines.put_all(&evidence.gaps, Record::Gap)?;
    lines.put_all(&evidence.unreadable, Record::Unreadable)?;
    // It lists the profiles that are not the implementation's work alone.
    if let Some(driver) = &evidence.driver {
        lines.put(Record::Driver(Box::new(driver.clone())))?;
    }
    if let Some(stage) = &evidence.stage {
        lines.put(Record::Stage(Box::new(stage.clone())))?;
    }
    lines.put_all(&evidence.namespaces, Record::Namespace)?;
    lines.put_all(&evidence.secrets, Record::Secret)?;
    lines.put_all(&evidence.unlabelled_secrets, Record::UnlabelledSecret)?;
    lines.put_all(&evidence.probes, Record::Probe)?;
    lines.put_histories(&evidence.profiles)?;
    lines.put_histories(&evidence.slices)?;
    let later = &evidence.later;
    lines.are_later = true;
    lines.put_all(&later.gaps, Record::Gap)?;
    lines.put_all(&later.missing, Record::Missing)?;
    lines.put_histories(&later.profiles)?;
    lines.put_histories(&later.slices)?;
    lines.are_later = false;
    lines.put_all(&evidence.workloads, Record::Workload)?;
    lines.put_all(&evidence.consumer_access, Record::ConsumerAccess)?;
    lines.put_log(&evidence.requests, Record::Requests, Record::Request)?;
    lines.put_log(
        &evidence.slice_requests,
        Record::SliceRequests,
        Record::SliceRequest,
    )?;
    for member in &evidence.members {
        let (first, later) = first_and_later(member);
        lines.put(Record::Member(Box::new(first)))?;
        for look in later {
            lines.put(Record::Look(Box::new(look)))?;
        }
    }
    lines.put_all(&evidence.endpoint_calls, Record::EndpointCall)?;
    lines.put_all(&evidence.logins, Record::Login)?;
    lines.put_log(&evidence.member_calls, Record::MemberCalls, Record::MemberCall)?;
    lines.put_log(&evidence.plugin_calls, Record::PluginCalls, Record::PluginCall)?;
    if let Some(notices) = &evidence.notices {
        lines.put(Record::Notices(Box::new(notices.clone())))?;
    }
    lines.put(Record::End {})?;
    lines.writer.flush()
}

struct Lines<W: Write> {
    writer: BufWriter<W>,
    /// Whether they tell of the time after the window.
    are_later: bool,
}

impl<W: Write> Lines<W> {
    fn put(&mut self, record: Record<'_>) -> io::Result<()> {
        let record = if self.are_later {
            Record::Later(Box::new(record))
        } else {
            record
        };
        serde_json::to_writer(&mut self.writer, &record)?;
        self.writer.write_all(b"\n")
    }

    /// Writes a record of each.
    fn put_all<'a, T: Clone + 'a>(
        &mut self,
        all: impl IntoIterator<Item = &'a T>,
        record: fn(Cow<'a, T>) -> Record<'a>,
    ) -> io::Result<()> {
        let mut records = all.into_iter().map(|one| record(Cow::Borrowed(one)));
        records.try_for_each(|record| self.put(record))
    }

    /// Writes the first version of each object, what changed in the later ones, and when it was deleted.
    fn put_histories<T: Recorded>(&mut self, histories: &[History<T>]) -> io::Result<()> {
        for history in histories {
            let Some(first) = First::of(history) else { continue };
            self.put(T::record(first))?;
            for (before, after) in history.steps() {
                let change = before.object.change(&after.object, after.received());
                self.put(Record::Change(Box::new(change)))?;
            }
            if let Some(at) = history.deleted {
                self.put(Record::Gone(Gone { at }))?;
            }
        }
        Ok(())
    }

    /// Writes the span of a log, and its events.
    fn put_log<'a, T: Clone>(
        &mut self,
        log: &'a Option<Log<T>>,
        span: fn(Covers) -> Record<'a>,
        record: fn(Cow<'a, T>) -> Record<'a>,
    ) -> io::Result<()> {
        let Some(Log { covers, events }) = log else {
            return Ok(());
        };
        self.put(span(Covers { covers: *covers }))?;
        self.put_all(events, record)
    }
}
