//! The end of what a hook prints, without credentials.

use std::{collections::VecDeque, sync::Arc};

use evidence::{ObjectKey, redact::without_credentials};

use super::file::profile_key;

/// How much of it is kept.
const KEPT: usize = 64 * 1024;
/// A line that is longer is not kept at all: cut, it could begin or end within a credential.
const LONGEST: usize = 16 * 1024;
/// What stands for a line that is not kept.
const TOO_LONG: &str = "(a line that is too long to be kept)";
/// What stands for a credential.
const TAKEN: &str = "…";

/// The end of what was printed so far. Lines go in one by one, so that none is cut within a credential.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    secrets: Arc<Vec<String>>,
    lines: VecDeque<String>,
    size: usize,
    /// Whether lines of a private key are going by.
    in_key: bool,
    /// The profile that the last line of that form has named.
    profile: Option<ObjectKey>,
    /// The same for a decision.
    decision: Option<ObjectKey>,
}

/// What was printed.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// All that is kept.
    pub output: String,
    /// The profile that was named.
    pub profile: Option<ObjectKey>,
    /// The namespace and the key of the decision that was named.
    pub decision: Option<ObjectKey>,
}

/// The lines of one of the two outputs, while they arrive.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    line: Vec<u8>,
    too_long: bool,
}

impl Tail {
    /// An empty one, that will not show these.
    pub fn without(secrets: Arc<Vec<String>>) -> Self {
        Self {
            secrets,
            ..Self::default()
        }
    }

    /// Takes what has arrived of one output.
    pub fn take(&mut self, cutter: &mut Cutter, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            cutter.extend(&piece[..end]);
            self.line(cutter);
            piece = &piece[end + 1..];
        }
        cutter.extend(piece);
    }

    /// Takes what has arrived of an output that has ended.
    pub fn end(&mut self, cutter: &mut Cutter) {
        if !cutter.line.is_empty() || cutter.too_long {
            self.line(cutter);
        }
    }

    /// What is kept, and what was named.
    pub fn finish(self) -> Told {
        Told {
            output: Vec::from(self.lines).join("\n"),
            profile: self.profile,
            decision: self.decision,
        }
    }

    fn line(&mut self, cutter: &mut Cutter) {
        let line = std::mem::take(&mut cutter.line);
        if std::mem::take(&mut cutter.too_long) {
            return self.keep(TOO_LONG.to_owned());
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        let named = |what: &str| line.trim().strip_prefix(what).and_then(profile_key);
        self.profile = named("profile:").or(self.profile.take());
        self.decision = named("decision:").or(self.decision.take());
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

    fn kept(text: &str, piece: usize) -> (String, Option<ObjectKey>) {
        let secrets = vec!["CANARY-token".to_owned()];
        let (mut tail, mut cutter) = (Tail::without(Arc::new(secrets)), Cutter::default());
        for piece in text.as_bytes().chunks(piece) {
            tail.take(&mut cutter, piece);
        }
        tail.end(&mut cutter);
        let told = tail.finish();
        (told.output, told.profile)
    }

    #[test]
    fn keeps_the_end_and_no_credential() {
        let key = "-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----";
        let text = format!("token CANARY-token, twice CANARY-token\n{key}\nhttps://u:CANARY@host/\r\nend");
        for piece in 1..40 {
            let (kept, _) = kept(&text, piece);
            assert_eq!(
                kept, "token …, twice …\n…\nhttps://…@host/\nend",
                "in pieces of {piece}"
            );
        }
        // A key that breaks off, and one in a line that says more.
        assert_eq!(kept("-----BEGIN RSA PRIVATE KEY-----\nCANARY", 9).0, "…");

        let many = "0123456789\n".repeat(10_000);
        let (end, _) = kept(&many, 4096);
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
        assert_eq!(kept(&long, 1000).0, format!("{TOO_LONG}\nshort"));
        assert_eq!(kept(&"x".repeat(LONGEST * 9), 5000).0, TOO_LONG);
    }

    #[test]
    fn the_last_profile_that_is_named_counts() {
        let named = |text: &str| {
            kept(text, 7)
                .1
                .map(|key| format!("{}/{}", key.namespace, key.name))
        };
        assert_eq!(
            named("profile: fleet/a\n  profile: fleet/b  \nprofile: none\n").as_deref(),
            Some("fleet/b")
        );
        assert_eq!(named("the profile: fleet/a\nprofile: a b/c\n"), None);
    }
}
