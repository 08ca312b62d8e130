//! Reads a log file by file, and notes gaps.

use std::io;

use evidence::{Gap, Window};
use jiff::Timestamp;

use super::{
    coverage::{End, Silences, Span, gap},
    error::RequestsError,
    events::{Events, Taken},
    files::LogFile,
    lines::{Line, Lines},
};

/// How many lines a file may begin with that are no events. A log that was cut out of a longer one begins in the middle
/// of an event; a file without any is no audit log.
const LEAD: usize = 100;

/// How many gaps of one file are told apart.
const GAPS: usize = 20;

/// What was read so far.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) events: Events,
    pub(super) spans: Vec<Span>,
    pub(super) gaps: Vec<Gap>,
    pub(super) notes: Vec<String>,
    pub(super) silences: Silences,
    /// How many files were read that were not named, only found.
    pub(super) beside: usize,
}

impl Reading {
    /// Reads a file. One that was not named may be something else, or be gone.
    ///
    /// # Errors
    /// When one that somebody named cannot be read, or is no audit log.
    pub(super) fn read_file(&mut self, file: &LogFile) -> Result<(), RequestsError> {
        let path = file.path.display().to_string();
        let read = Lines::open(&file.path).and_then(|lines| self.read(&path, lines, file.rotated));
        match (read, file.is_named) {
            (Ok(None), false) => self.beside += 1,
            (Ok(None), true) => {}
            (Ok(Some(message)), true) => return Err(RequestsError::NoLog { path, message }),
            (Ok(Some(message)), false) => {
                self.notes
                    .push(format!("{path} is left out, as it is no audit log: {message}"));
            }
            // Since it was found it has been packed or thrown away.
            (Err(cause), false) if cause.kind() == io::ErrorKind::NotFound => {}
            (Err(cause), false) => {
                let reason = RequestsError::Read { path, cause }.to_string();
                self.gaps.push(gap(None, file.rotated, &reason));
            }
            (Err(cause), true) => return Err(RequestsError::Read { path, cause }),
        }
        Ok(())
    }

    /// Reads the lines of a file that was rotated then, where its name tells. Where it is no audit log, gives the
    /// reason.
    ///
    /// # Errors
    /// When the system refuses to read on.
    pub(super) fn read(
        &mut self,
        path: &str,
        mut lines: Lines<'_>,
        rotated: Option<Timestamp>,
    ) -> io::Result<Option<String>> {
        let mut covers: Option<Window> = None;
        let mut end = End::Whole;
        let mut gaps: Vec<Gap> = Vec::new();
        // The first bad line since the last event.
        let mut bad: Option<String> = None;
        let mut foreign = 0;
        loop {
            let number = lines.number() + 1;
            let (taken, is_ended) = match lines.next()? {
                None => break,
                Some(Line::Whole(line)) => (self.events.take(line), true),
                Some(Line::Unended(line)) => (self.events.take(line), false),
                Some(Line::TooLong) => (Taken::bad("it is too long"), true),
                Some(Line::Broken(why)) => {
                    end = End::Lost(format!("{path} ends early: {why}"));
                    break;
                }
            };
            if let (Some(message), false) = (&taken.bad, is_ended) {
                self.notes.push(format!(
                    "the last line of {path} is not finished and left out: {message}"
                ));
                end = End::HalfLine;
                break;
            }
            let until = covers.map(|covers| covers.until);
            if let Some(logged) = taken.logged {
                if let Some(reason) = bad.take() {
                    note_gap(&mut gaps, gap(until, Some(logged.from), &reason));
                }
                if let Some(until) = until {
                    self.silences.note(logged.from.duration_since(until));
                }
                covers = Some(covers.map_or(logged, |covers| covers.with(logged)));
            }
            foreign += usize::from(taken.is_foreign());
            if let Some(message) = taken.bad {
                bad.get_or_insert_with(|| format!("{path}:{number} is no audit event in JSON: {message}"));
            }
            if covers.is_none() && number >= LEAD {
                break;
            }
        }
        let Some(covers) = covers else {
            let foreign = (foreign > 0).then(|| "its lines are no audit events in JSON".to_owned());
            return Ok(match end {
                End::Lost(reason) => Some(reason),
                End::Whole | End::HalfLine => bad.or(foreign),
            });
        };
        if foreign > 0 {
            self.notes.push(format!(
                "{foreign} lines of {path} are left out, as they are no audit events"
            ));
        }
        if let Some(reason) = bad {
            end = End::Lost(reason);
        }
        self.spans.push(Span { covers, end, rotated });
        self.gaps.extend(gaps);
        Ok(None)
    }
}

/// Notes a gap of a file. Where there are many already, the last one grows.
fn note_gap(gaps: &mut Vec<Gap>, new: Gap) {
    let are_many = gaps.len() >= GAPS;
    match gaps.last_mut().filter(|_| are_many) {
        Some(last) => last.until = new.until,
        None => gaps.push(new),
    }
}
