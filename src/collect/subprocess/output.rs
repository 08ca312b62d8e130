//! The output of a subprocess: whole, or its end without credentials.

use std::{collections::VecDeque, process::Stdio};

use evidence::{ObjectKey, redact::without_credentials};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use super::End;
use crate::hub::profile_key;

/// The bytes of a tail that are kept.
const KEPT: usize = 64 * 1024;
/// A longer line is not kept at all: cut, it could begin or end within a credential.
const LONGEST: usize = 16 * 1024;
const TOO_LONG: &str = "(a line that is too long to be kept)";

/// The text without these secrets.
pub(crate) fn without(text: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter();
    secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
}

pub(crate) enum Sink<'a> {
    /// Into memory. A subprocess that prints more than `most` bytes is ended.
    Whole {
        into: &'a mut Vec<u8>,
        most: usize,
    },
    /// Into memory: its end, redacted.
    Tail(&'a Mutex<Tail>),
    Ours,
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
    /// Fails as soon as it is too large.
    pub(super) async fn read(self, output: Option<impl AsyncRead + Unpin>) -> Result<(), End> {
        let Some(output) = output else {
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
                let (mut output, mut line, mut is_rest) = (BufReader::new(output), Vec::new(), false);
                let longest = LONGEST as u64 + 1;
                while let Ok(1..) = (&mut output).take(longest).read_until(b'\n', &mut line).await {
                    let is_cut = line.last() != Some(&b'\n') && line.len() > LONGEST;
                    if is_cut && !is_rest {
                        tail.lock().keep(TOO_LONG.to_owned());
                    } else if !is_rest {
                        tail.lock().line(&line);
                    }
                    is_rest = is_cut;
                    line.clear();
                }
            }
            Sink::Ours | Sink::Nowhere => {}
        }
        Ok(())
    }
}

/// The end of what was printed so far. Lines go in one by one, so that none is cut within a credential.
#[derive(Default)]
pub(crate) struct Tail {
    secrets: Vec<String>,
    lines: VecDeque<String>,
    size: usize,
    /// Whether the lines belong to a private key.
    in_key: bool,
    /// What the lines name, as they were printed.
    pub printed: Printed,
}

/// The objects that lines name: of each kind, the last line counts.
#[derive(Default)]
pub(crate) struct Printed {
    /// By `profile: NAMESPACE/NAME`.
    pub profile: Option<ObjectKey>,
    /// By `decision: NAMESPACE/KEY`.
    pub decision: Option<ObjectKey>,
}

impl Printed {
    fn read(&mut self, line: &str) {
        let key = |prefix: &str| profile_key(line.trim().strip_prefix(prefix)?);
        self.profile = key("profile:").or(self.profile.take());
        self.decision = key("decision:").or(self.decision.take());
    }
}

impl Tail {
    /// An empty tail that redacts these secrets.
    pub fn without(secrets: Vec<String>) -> Self {
        Self {
            secrets,
            ..Self::default()
        }
    }

    pub fn finish(self) -> String {
        Vec::from(self.lines).join("\n")
    }

    /// Takes a line of one of the two outputs.
    fn line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        self.printed.read(line);
        if self.in_key {
            self.in_key = !ends_key(line);
            return;
        }
        self.in_key = begins_key(line) && !ends_key(line);
        let clean = without(line, &self.secrets);
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

fn begins_key(line: &str) -> bool {
    line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----")
}

fn ends_key(line: &str) -> bool {
    line.contains("-----END ")
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn kept(text: &str) -> String {
        let secrets = vec!["CANARY-token".to_owned()];
        let tail = Mutex::new(Tail::without(secrets));
        let reading = Sink::Tail(&tail).read(Some(text.as_bytes()));
        let outcome = reading.now_or_never().expect("it never waits");
        outcome.expect("it is not too large");
        tail.into_inner().finish()
    }

    #[test]
    fn keeps_the_end_and_no_credential() {
        let key = "-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----";
        let text = format!("token CANARY-token, twice CANARY-token\n{key}\nhttps://u:CANARY@host/\r\nend");
        assert_eq!(kept(&text), "token …, twice …\n…\nhttps://…@host/\nend");
        // A key that breaks off, and one in a line that says more.
        assert_eq!(kept("-----BEGIN RSA PRIVATE KEY-----\nCANARY"), "…");

        let many = "0123456789\n".repeat(10_000);
        let end = kept(&many);
        assert!(end.len() <= KEPT && end.len() > KEPT - 20, "{}", end.len());
        assert!(end.starts_with("0123456789\n") && end.ends_with("0123456789"));
    }

    #[test]
    fn the_last_named_object_of_each_kind_counts() {
        let read = |text: &str| {
            let tail = Mutex::new(Tail::without(vec!["CANARY".to_owned()]));
            let reading = Sink::Tail(&tail).read(Some(text.as_bytes()));
            let outcome = reading.now_or_never().expect("it never waits");
            outcome.expect("it is not too large");
            let Printed { profile, decision } = tail.into_inner().printed;
            let shown = |key: ObjectKey| format!("{}/{}", key.namespace, key.name);
            [profile, decision].map(|key| key.map_or_else(String::new, shown))
        };
        let text = "profile: fleet/a\n  profile: fleet/b  \nprofile: none";
        assert_eq!(read(text), ["fleet/b", ""]);
        assert_eq!(read("the profile: fleet/a\nprofile: a b/c"), ["", ""]);
        // Not as it is kept: redacted, and its end alone.
        let text = format!(
            "profile: CANARY/a\ndecision: fleet/CANARY\n{}",
            "0123456789\n".repeat(10_000)
        );
        assert_eq!(read(&text), ["CANARY/a", "fleet/CANARY"]);
    }

    #[test]
    fn a_line_without_end_is_not_cut_within_a_credential() {
        let long = format!(
            "{}CANARY-token{}\nshort",
            "x".repeat(LONGEST - 6),
            "y".repeat(LONGEST * 4)
        );
        assert_eq!(kept(&long), format!("{TOO_LONG}\nshort"));
        assert_eq!(kept(&"x".repeat(LONGEST * 9)), TOO_LONG);
    }
}
