//! Reads the files of an audit log.

use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::{Gap, Requests, Window, api::ObjectKind};
use flate2::bufread::MultiGzDecoder;
use jiff::SignedDuration;

use super::{
    coverage::{LogEnd, LogSpan, Silences, gap, holes},
    events::{AuditEvents, LogLine},
};

/// The longest line, in bytes. A log with the bodies of lists has lines as long as the lists.
const LONGEST: usize = 256 << 20;
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// How many lines a file may begin with that are not events: a log that was cut out of a longer one begins within an
/// event. A file without any event is not an audit log.
const LEAD: usize = 100;
const GAPS: usize = 20;

/// Why an audit log could not be read. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// A file or folder cannot be read.
    #[error("failed to read the audit log {path}: {cause}; check the file and its permissions")]
    Read {
        /// The file or folder.
        path: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A file is something else.
    #[error(
        "{path} is not an audit log: {message}; give the one that the API server writes with --audit-log-format=json"
    )]
    NoLog {
        /// The file.
        path: String,
        /// What is wrong with its first line.
        message: String,
    },
    /// The log has no event.
    #[error(
        "the audit log {path} holds no event; set the API server's --audit-log-path, and a policy above level None"
    )]
    Empty {
        /// The files or folders.
        path: String,
    },
}

/// The requests on profiles and slices that an audit log holds.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditLog {
    /// The write requests on profiles, and the span of the hub's time that the log covers.
    pub requests: Requests,
    /// The write requests on slices of decisions.
    pub slice_requests: Requests,
    /// The levels at which the audit policy logs writes on profiles.
    pub levels: BTreeSet<String>,
    /// The kinds of objects without any request, not even one that reads: the policy may leave them out.
    pub silent_on: Vec<ObjectKind>,
    /// Where requests may be missing within that span.
    pub gaps: Vec<Gap>,
    /// Whether the log ends within an event, as one does that is being written to.
    pub cut_short: bool,
    /// How long the log may be silent without anything missing.
    pub silence: SignedDuration,
    /// The users that read profiles, or tried to.
    pub(super) readers: HashSet<Arc<str>>,
    /// Remarks for a person, for example which files were left out.
    pub notes: Vec<String>,
}

/// Reads an audit log: these files and all files of these folders, packed with gzip or not. Their order does not matter, and an
/// event that is in two of them counts once. The time that the log covers is that of its events of any resource.
///
/// # Errors
/// When a path cannot be read or a file is not an audit log, or there is no event.
pub fn read_audit_log(paths: &[PathBuf]) -> Result<AuditLog, RequestsError> {
    let mut reader = AuditLogReader::default();
    for path in paths {
        let unread = |cause| unread(path, cause);
        if !fs::metadata(path).map_err(unread)?.is_dir() {
            reader.read_file(path)?;
            continue;
        }
        for file in files(path).map_err(unread)? {
            match reader.read_file(&file) {
                Ok(()) => {}
                Err(error @ RequestsError::NoLog { .. }) => reader.notes.push(format!("left out: {error}")),
                Err(error) => reader.gaps.push(gap(None, None, &error.to_string())),
            }
        }
    }
    reader.finish().ok_or_else(|| {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        RequestsError::Empty {
            path: paths.join(", "),
        }
    })
}

/// Reads an audit log that is in memory. Errors and gaps call it `name`.
///
/// # Errors
/// When it is not an audit log, or has no event.
pub fn read_audit_text(name: &str, text: impl BufRead) -> Result<AuditLog, RequestsError> {
    let mut reader = AuditLogReader::default();
    reader.read(name, text)?;
    reader.finish().ok_or_else(|| RequestsError::Empty {
        path: name.to_owned(),
    })
}

fn unread(path: &Path, cause: io::Error) -> RequestsError {
    RequestsError::Read {
        path: path.display().to_string(),
        cause,
    }
}

/// The files of a folder, except hidden ones.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}

#[derive(Default)]
struct AuditLogReader {
    events: AuditEvents,
    spans: Vec<LogSpan>,
    gaps: Vec<Gap>,
    notes: Vec<String>,
    silences: Silences,
}

impl AuditLogReader {
    fn read_file(&mut self, path: &Path) -> Result<(), RequestsError> {
        let file = File::open(path).map_err(|cause| unread(path, cause))?;
        self.read(&path.display().to_string(), BufReader::new(file))
    }

    /// Reads a file. Its content decides whether it is packed.
    fn read(&mut self, path: &str, mut bytes: impl BufRead) -> Result<(), RequestsError> {
        let unread = |cause| unread(Path::new(path), cause);
        if bytes.fill_buf().map_err(unread)?.starts_with(&GZIP) {
            self.read_lines(path, BufReader::new(MultiGzDecoder::new(bytes)))
        } else {
            self.read_lines(path, bytes)
        }
    }

    fn read_lines(&mut self, path: &str, mut reader: impl BufRead) -> Result<(), RequestsError> {
        let (mut line, mut number, mut foreign) = (Vec::new(), 0, 0);
        let mut covers: Option<Window> = None;
        let mut end = LogEnd::Whole;
        let mut gaps: Vec<Gap> = Vec::new();
        // The first bad line since the last event.
        let mut bad: Option<String> = None;
        loop {
            number += 1;
            line.clear();
            match reader.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    let why = packing_error(&error).ok_or_else(|| unread(Path::new(path), error))?;
                    end = LogEnd::Lost(format!("{path} ends early: {why}"));
                    break;
                }
            }
            let is_ended = line.ends_with(b"\n");
            if !is_ended && line.len() == LONGEST {
                end = LogEnd::Lost(format!("{path}:{number} is longer than {} MiB", LONGEST >> 20));
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match self.events.read_line(&line) {
                LogLine::Event(at) => {
                    let until = covers.map(|covers| covers.until);
                    if let Some(reason) = bad.take() {
                        note_gap(&mut gaps, gap(until, Some(at), &reason));
                    }
                    if let Some(until) = until {
                        self.silences.note(at.duration_since(until));
                    }
                    let event = Window { from: at, until: at };
                    covers = Some(covers.map_or(event, |covers| covers.with(event)));
                }
                LogLine::Broken(message) if !is_ended => {
                    self.notes.push(format!(
                        "the last line of {path} is not finished and left out: {message}"
                    ));
                    end = LogEnd::HalfLine;
                    break;
                }
                LogLine::Broken(message) => {
                    bad.get_or_insert_with(|| {
                        format!("{path}:{number} is not an audit event in JSON: {message}")
                    });
                }
                LogLine::Other => foreign += 1,
            }
            if covers.is_none() && number >= LEAD {
                break;
            }
        }
        let Some(covers) = covers else {
            let foreign = (foreign > 0).then(|| "its lines are not audit events in JSON".to_owned());
            let message = match end {
                LogEnd::Lost(reason) => Some(reason),
                LogEnd::Whole | LogEnd::HalfLine => bad.or(foreign),
            };
            let path = path.to_owned();
            return message.map_or(Ok(()), |message| Err(RequestsError::NoLog { path, message }));
        };
        if foreign > 0 {
            self.notes.push(format!(
                "{foreign} lines of {path} are left out, as they are not audit events"
            ));
        }
        if let Some(reason) = bad {
            end = LogEnd::Lost(reason);
        }
        self.spans.push(LogSpan { covers, end });
        self.gaps.extend(gaps);
        Ok(())
    }

    fn finish(mut self) -> Option<AuditLog> {
        let silence = self.silences.bearable();
        let mut gaps = self.gaps;
        gaps.extend(holes(&mut self.spans, silence));
        let last = self.spans.iter().max_by_key(|span| span.covers.until)?;
        let covers = Window {
            from: self.spans.first()?.covers.from,
            until: last.covers.until,
        };
        let is_unknown = |kind: &ObjectKind| !self.events.kinds.contains(kind);
        let silent_on = ObjectKind::ALL.into_iter().filter(is_unknown).collect();
        gaps.extend(self.events.unanswered(covers.until));
        let (levels, readers) = (self.events.levels.clone(), self.events.readers.clone());
        let (profiles, slices) = self.events.into_requests();
        let requests = |events| Requests { covers, events };
        Some(AuditLog {
            requests: requests(profiles),
            slice_requests: requests(slices),
            levels,
            silent_on,
            gaps,
            cut_short: last.end == LogEnd::HalfLine,
            silence,
            readers,
            notes: self.notes,
        })
    }
}

/// What is wrong with a packed file; none if the system's reading failed.
fn packing_error(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Some("it is packed with gzip and cut short"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            Some("it is packed with gzip and damaged")
        }
        _ => None,
    }
}

/// Notes a gap of a file. If there are many, the last one grows.
fn note_gap(gaps: &mut Vec<Gap>, new: Gap) {
    let are_many = gaps.len() >= GAPS;
    match gaps.last_mut().filter(|_| are_many) {
        Some(last) => last.until = new.until,
        None => gaps.push(new),
    }
}
