//! Writes the evidence file.

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde::Serialize;
use serde_json::Value;

use super::record::{Covers, Deleted, First, MergePatch, Patch, Record};
use crate::{
    Evidence, FORMAT, Header, History, Log, Member, Tracked,
    file::checksum::{Checksum, Summing},
};

/// Writes evidence for a file named `path`: packed if the name ends in `.zst`. Fails if the system cannot write it.
pub fn write_named(evidence: &Evidence, path: &Path, into: impl Write) -> io::Result<()> {
    packed(path, into, |plain| write_to(evidence, plain))
}

/// Like [`write_named`], with the checksum of the unpacked content.
pub fn write_summed(evidence: &Evidence, path: &Path, into: impl Write) -> io::Result<Checksum> {
    packed(path, into, |plain| {
        let mut summing = Summing::new(plain);
        write_to(evidence, &mut summing)?;
        Ok(summing.finish())
    })
}

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
    let result = write(&mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(result)
}

/// Writes evidence as JSON Lines, in the format of this suite. Fails if the system cannot write it.
pub fn write_to(evidence: &Evidence, writer: impl Write) -> io::Result<()> {
    let mut records = RecordWriter {
        writer: BufWriter::new(writer),
        are_after_window: false,
    };
    records.put(Record::Header(Box::new(Header {
        format: FORMAT.to_owned(),
        ..evidence.header.clone()
    })))?;
    // Gaps come first, so that a truncated file still has them.
    records.put_all(&*evidence.gaps, Record::Gap)?;
    records.put_all(&evidence.unreadable, Record::Unreadable)?;
    // It lists the profiles that are not the implementation's work alone.
    if let Some(driver) = &evidence.driver {
        records.put(Record::Driver(Box::new(driver.clone())))?;
    }
    if let Some(testbed) = &evidence.testbed {
        records.put(Record::Testbed(Box::new(testbed.clone())))?;
    }
    records.put_all(&evidence.namespaces, Record::Namespace)?;
    records.put_all(&evidence.secrets, Record::Secret)?;
    records.put_all(&evidence.unlabelled_secrets, Record::UnlabelledSecret)?;
    records.put_all(&evidence.probes, Record::Probe)?;
    records.put_histories(&evidence.profiles, Record::Profile)?;
    records.put_histories(&evidence.slices, Record::PlacementDecision)?;
    let later = &evidence.later;
    records.are_after_window = true;
    records.put_all(&*later.gaps, Record::Gap)?;
    records.put_all(&later.missing, Record::Missing)?;
    records.put_histories(&later.profiles, Record::Profile)?;
    records.put_histories(&later.slices, Record::PlacementDecision)?;
    records.are_after_window = false;
    records.put_log(&evidence.requests, Record::Requests, Record::Request)?;
    records.put_all(&evidence.own_requests, Record::Request)?;
    records.put_log(
        &evidence.slice_requests,
        Record::PlacementDecisionRequests,
        Record::PlacementDecisionRequest,
    )?;
    records.put_all(&evidence.own_slice_requests, Record::PlacementDecisionRequest)?;
    for member in &evidence.members {
        records.put_member(member)?;
    }
    records.put_all(&evidence.endpoint_calls, Record::EndpointCall)?;
    records.put_all(&evidence.logins, Record::Login)?;
    records.put_log(&evidence.member_calls, Record::MemberCalls, Record::MemberCall)?;
    records.put_log(&evidence.plugin_calls, Record::PluginCalls, Record::PluginCall)?;
    if let Some(mentions) = &evidence.mentions {
        records.put(Record::Mentions(Box::new(mentions.clone())))?;
    }
    records.put(Record::End {})?;
    records.writer.flush()
}

struct RecordWriter<W: Write> {
    writer: BufWriter<W>,
    are_after_window: bool,
}

impl<W: Write> RecordWriter<W> {
    fn put(&mut self, record: Record<'_>) -> io::Result<()> {
        let record = if self.are_after_window {
            Record::AfterWindow(Box::new(record))
        } else {
            record
        };
        serde_json::to_writer(&mut self.writer, &record)?;
        self.writer.write_all(b"\n")
    }

    fn put_all<'a, T: Clone + 'a>(
        &mut self,
        all: impl IntoIterator<Item = &'a T>,
        record: fn(Cow<'a, T>) -> Record<'a>,
    ) -> io::Result<()> {
        let mut records = all.into_iter().map(|one| record(Cow::Borrowed(one)));
        records.try_for_each(|record| self.put(record))
    }

    /// Writes the first version of each object, patches for the later ones, and the deletion.
    fn put_histories<'a, T: Tracked + Serialize>(
        &mut self,
        histories: &'a [History<T>],
        record: fn(Box<First<'a, T>>) -> Record<'a>,
    ) -> io::Result<()> {
        for history in histories {
            let Some(first) = First::of(history) else { continue };
            self.put(record(Box::new(first)))?;
            let mut patches = Patches::default();
            for version in &history.versions {
                let patch = patches.next(&version.object)?;
                if let Some(object) = patch {
                    let at = version.received();
                    let object = Cow::Owned(object);
                    self.put(Record::Patch(Patch { at, object }))?;
                }
            }
            if let Some(at) = history.deleted {
                let resource_version = history.deleted_version.clone();
                let deleted = Deleted { at, resource_version };
                self.put(Record::Deleted(Cow::Owned(deleted)))?;
            }
        }
        Ok(())
    }

    /// Writes a member with its first sample, and patches for the later ones.
    fn put_member(&mut self, member: &Member) -> io::Result<()> {
        self.put(Record::Member(Box::new(Member {
            profile: member.profile.clone(),
            access: member.access.clone(),
            samples: member.samples.iter().take(1).cloned().collect(),
        })))?;
        let mut patches = Patches::default();
        for sample in &member.samples {
            if let Some(patch) = patches.next(sample)? {
                self.put(Record::MemberSample(patch))?;
            }
        }
        Ok(())
    }

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

#[derive(Default)]
struct Patches {
    before: Option<Value>,
}

impl Patches {
    /// The patch from the version before; none for the first version.
    fn next(&mut self, version: &impl Serialize) -> io::Result<Option<MergePatch>> {
        let value = serde_json::to_value(version)?;
        let patch = self
            .before
            .as_ref()
            .map(|before| MergePatch::between(before, &value));
        self.before = Some(value);
        Ok(patch)
    }
}
