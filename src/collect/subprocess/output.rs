//! The output of a subprocess: whole, or its end without credentials.

use std::{collections::VecDeque, process::Stdio, sync::Arc};

use evidence::redact::without_credentials;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::run::End;

/// The bytes of a tail that are kept.
const KEPT: usize = 64 * 1024;
/// A longer line is not kept at all: cut, it could begin or end within a credential.
const LONGEST: usize = 16 * 1024;
/// Replaces a line that is not kept.
const TOO_LONG: &str = "(a line that is too long to be kept)";
/// Replaces a credential.
const TAKEN: &str = "…";

/// Where an output goes.
pub(crate) enum Sink<'a> {
    /// Into memory. A subprocess that prints more than `most` bytes is ended.
    Whole {
        /// Keeps what is printed.
        into: &'a mut Vec<u8>,
        /// The largest output.
        most: usize,
    },
    /// Into memory: its end, redacted.
    Tail(&'a Mutex<Tail>),
    /// To our own output.
    Ours,
    /// Nowhere.
    Nowhere,
}

impl Sink<'_> {
    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Sink::Whole { .. } | Sink::Tail(_) => Stdio::piped(),
            Sink::Ours => Stdio::inherit(),
            Sink::Nowhere => Stdio::null(),
        }
    }

    /// Reads an output to its end. What was read before a failure counts.
    ///
    /// # Errors
    /// As soon as it is too large.
    pub(super) async fn read(self, output: Option<impl AsyncRead + Unpin>) -> Result<(), End> {
        let Some(mut output) = output else {
            return Ok(());
        };
        match self {
            Sink::Whole { into, most } => {
                let _ = output.take(most as u64 + 1).read_to_end(into).await;
                if into.len() > most {
                    return Err(End::TooMuch(most));
                }
            }
            Sink::Tail(tail) => {
                let (mut cutter, mut buffer) = (Cutter::default(), vec![0; 8192]);
                while let Ok(size @ 1..) = output.read(&mut buffer).await {
                    tail.lock().take(&mut cutter, &buffer[..size]);
                }
                tail.lock().end(&mut cutter);
            }
            Sink::Ours | Sink::Nowhere => {}
        }
        Ok(())
    }
}

/// The end of what was printed so far. Lines go in one by one, so that none is cut within a credential.
#[derive(Default)]
pub(crate) struct Tail {
    secrets: Arc<Vec<String>>,
    lines: VecDeque<String>,
    size: usize,
    /// Whether the lines belong to a private key.
    in_key: bool,
    /// Reads each line that is not too long, as it was printed.
    reader: Option<LineReader>,
}

/// Is called with each line.
type LineReader = Box<dyn FnMut(&str) + Send>;

/// The lines of one of the two outputs, while they arrive.
#[derive(Default)]
struct Cutter {
    line: Vec<u8>,
    too_long: bool,
}

impl Tail {
    /// An empty tail that redacts these secrets.
    pub fn without(secrets: Arc<Vec<String>>) -> Self {
        Self {
            secrets,
            ..Self::default()
        }
    }

    /// Shows each line to a reader, too.
    #[must_use]
    pub fn shown_to(mut self, reader: impl FnMut(&str) + Send + 'static) -> Self {
        self.reader = Some(Box::new(reader));
        self
    }

    /// Takes what has arrived of one output.
    fn take(&mut self, cutter: &mut Cutter, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            cutter.extend(&piece[..end]);
            self.line(cutter);
            piece = &piece[end + 1..];
        }
        cutter.extend(piece);
    }

    /// Takes what has arrived of an output that has ended.
    fn end(&mut self, cutter: &mut Cutter) {
        if !cutter.line.is_empty() || cutter.too_long {
            self.line(cutter);
        }
    }

    /// The kept lines.
    pub fn finish(self) -> String {
        Vec::from(self.lines).join("\n")
    }

    fn line(&mut self, cutter: &mut Cutter) {
        let line = std::mem::take(&mut cutter.line);
        if std::mem::take(&mut cutter.too_long) {
            return self.keep(TOO_LONG.to_owned());
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        if let Some(reader) = &mut self.reader {
            reader(line);
        }
        if self.in_key {
            self.in_key = !ends_key(line);
            return;
        }
        self.in_key = begins_key(line) && !ends_key(line);
        let mut clean = line.to_owned();
        for secret in self.secrets.iter() {
            if clean.contains(secret) {
                clean = clean.replace(secret, TAKEN);
            }
        }
        self.keep(without_credentials(&clean).into_owned());
    }

    fn keep(&mut self, line: String) {
        self.size += line.len() + 1;
        self.lines.push_back(line);
        while self.size > KEPT {
            let Some(first) = self.lines.pop_front() else {
                return;
            };
            self.size -= first.len() + 1;
        }
    }
}

impl Cutter {
    fn extend(&mut self, piece: &[u8]) {
        self.too_long |= self.line.len() + piece.len() > LONGEST;
        if self.too_long {
            self.line.clear();
        } else {
            self.line.extend_from_slice(piece);
        }
    }
}

fn begins_key(line: &str) -> bool {
    line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----")
}

fn ends_key(line: &str) -> bool {
    line.contains("-----END ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, piece: usize) -> String {
        let secrets = vec!["CANARY-token".to_owned()];
        let (mut tail, mut cutter) = (Tail::without(Arc::new(secrets)), Cutter::default());
        for piece in text.as_bytes().chunks(piece) {
            tail.take(&mut cutter, piece);
        }
        tail.end(&mut cutter);
        tail.finish()
    }

    #[test]
    fn keeps_the_end_and_no_credential() {
        let key = "-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----";
        let text = format!("token CANARY-token, twice CANARY-token\n{key}\nhttps://u:CANARY@host/\r\nend");
        for piece in 1..40 {
            let kept = kept(&text, piece);
            assert_eq!(
                kept, "token …, twice …\n…\nhttps://…@host/\nend",
                "in pieces of {piece}"
            );
        }
        // A key that breaks off, and one in a line that says more.
        assert_eq!(kept("-----BEGIN RSA PRIVATE KEY-----\nCANARY", 9), "…");

        let many = "0123456789\n".repeat(10_000);
        let end = kept(&many, 4096);
        assert!(end.len() <= KEPT && end.len() > KEPT - 20, "{}", end.len());
        assert!(end.starts_with("0123456789\n") && end.ends_with("0123456789"));
    }

    #[test]
    fn a_line_without_end_is_not_cut_within_a_credential() {
        let long = format!(
            "{}CANARY-token{}\nshort",
            "x".repeat(LONGEST - 6),
            "y".repeat(LONGEST * 4)
        );
        assert_eq!(kept(&long, 1000), format!("{TOO_LONG}\nshort"));
        assert_eq!(kept(&"x".repeat(LONGEST * 9), 5000), TOO_LONG);
    }
}
