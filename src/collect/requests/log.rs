//! An audit log, from its files to requests.

use std::{collections::HashSet, io::BufRead, path::PathBuf, sync::Arc};

use evidence::{Gap, Requests, Window, api::ObjectKind};
use jiff::SignedDuration;

use super::{
    coverage::{End, holes},
    error::RequestsError,
    files::find,
    lines::Lines,
    reading::Reading,
};

/// How often a log's files are looked for: while they are read, the API server may begin a new one.
const ROUNDS: usize = 3;

/// What an audit log tells of profiles and slices.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditLog {
    /// The write requests, and the span of the hub's time that the log covers. The suite's own are not among them.
    pub requests: Requests,
    /// The same for slices of decisions.
    pub slice_requests: Requests,
    /// The kinds of objects of which it holds no request, not even one that reads: its policy may leave them out.
    pub silent_on: Vec<ObjectKind>,
    /// Where requests may be missing within that span.
    pub gaps: Vec<Gap>,
    /// Whether the log ends in the middle of an event, as one does that is being written to.
    pub cut_short: bool,
    /// How long the log may be silent without anything missing.
    pub silence: SignedDuration,
    /// The users that read profiles, or tried to.
    pub(super) readers: HashSet<Arc<str>>,
    /// Remarks for a person: which files were read besides those given, and what was left out.
    pub notes: Vec<String>,
}

/// Reads an audit log: the files at these paths, the rotated files beside each of them, and all files of the folders
/// among them, packed with gzip or not. Their order does not matter, and events that stand in two of them count once.
/// The time that the log covers is that of its events of any resource.
///
/// # Errors
/// When a path leads to nothing that can be read, or to something else than an audit log, or there is no event.
pub fn read_audit_log(paths: &[PathBuf]) -> Result<AuditLog, RequestsError> {
    let mut reading = Reading::default();
    let (mut files, notes) = find(paths)?;
    let mut known = HashSet::new();
    for _ in 0..ROUNDS {
        files.retain(|file| known.insert(file.path.clone()));
        for file in &files {
            reading.read_file(file)?;
        }
        files = find(paths).map_or_else(|_| Vec::new(), |(files, _)| files);
    }
    reading.notes.extend(notes);
    finish(reading).ok_or_else(|| {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        RequestsError::Empty {
            path: paths.join(", "),
        }
    })
}

/// Reads an audit log that is in memory already, in one piece. `name` is what errors and gaps call it.
///
/// # Errors
/// As [`read_audit_log`].
pub fn read_audit_text(name: &str, text: impl BufRead) -> Result<AuditLog, RequestsError> {
    let mut reading = Reading::default();
    let unread = |cause| RequestsError::Read {
        path: name.to_owned(),
        cause,
    };
    let lines = Lines::unpacking(text).map_err(unread)?;
    let path = name.to_owned();
    match reading.read(name, lines, None).map_err(unread)? {
        Some(message) => Err(RequestsError::NoLog { path, message }),
        None => finish(reading).ok_or(RequestsError::Empty { path }),
    }
}

/// All that was read; none where there was no event.
fn finish(mut reading: Reading) -> Option<AuditLog> {
    let silence = reading.silences.bearable();
    let mut gaps = reading.gaps;
    gaps.extend(holes(&mut reading.spans, silence));
    let first = reading.spans.first()?;
    let last = reading.spans.iter().max_by_key(|span| span.covers.until)?;
    let covers = Window {
        from: first.covers.from,
        until: last.covers.until,
    };
    let silent_on = ObjectKind::ALL
        .into_iter()
        .filter(|kind| !reading.events.knows(*kind));
    let silent_on = silent_on.collect();
    gaps.extend(reading.events.unanswered(covers.until));
    let mut notes = reading.notes;
    match reading.beside {
        0 => {}
        1 => notes.push("the audit log was read with 1 file that belongs to it".to_owned()),
        files => notes.push(format!(
            "the audit log was read with {files} files that belong to it"
        )),
    }
    let readers = std::mem::take(&mut reading.events.readers);
    let (profiles, slices) = reading.events.into_requests();
    Some(AuditLog {
        readers,
        silent_on,
        slice_requests: Requests {
            covers,
            events: slices,
        },
        cut_short: last.end == End::HalfLine,
        requests: Requests {
            covers,
            events: profiles,
        },
        gaps,
        silence,
        notes,
    })
}
