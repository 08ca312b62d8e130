//! Runs plugins as programs, without a shell, with limits of time and size.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use evidence::redact::without_credentials;
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{process::Command, sync::Semaphore, time::timeout};

use super::file::{Call, Output, Ran, Runner};
use crate::{
    connect::{exec::run_plugin, failure::cut},
    subprocess::{End, Sink, Subprocesses, Tail, with_last_words},
};

/// How long a plugin may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many run at a time.
const AT_ONCE: usize = 16;
/// How long a plugin waits for its turn. If most of them hang, the run still ends.
const QUEUE: Duration = Duration::from_secs(300);
/// Shorter values of the environment are not redacted: they would hide too much other text.
const SHORTEST_VALUE: usize = 8;

/// How many lines and characters of its standard error a failure quotes.
const LINES: usize = 3;
const LONGEST: usize = 300;
/// Longer lines are left out: if they were cut, they could end within a credential.
const LONGEST_LINE: usize = 2000;
/// Shorter words are not redacted.
const SHORTEST: usize = 6;
/// From this length on, a word counts as a credential.
const LIKE_A_TOKEN: usize = 20;
/// Replaces a credential.
const TAKEN: &str = "…";

/// Runs plugins as programs.
pub struct Processes {
    turns: Semaphore,
    patience: Duration,
    subprocesses: OnceLock<Subprocesses>,
}

impl Default for Processes {
    fn default() -> Self {
        Self::within(PATIENCE)
    }
}

impl Processes {
    /// Gives each plugin that much time.
    pub fn within(patience: Duration) -> Self {
        Self {
            turns: Semaphore::new(AT_ONCE),
            patience,
            subprocesses: OnceLock::new(),
        }
    }

    async fn call(&self, call: &Call) -> Ran {
        let Ok(Ok(_turn)) = timeout(QUEUE, self.turns.acquire()).await else {
            let waited = QUEUE.as_secs() / 60;
            return Ran::NotRun(format!(
                "its turn did not come for {waited} min, as others took so long"
            ));
        };
        // It finds the runner's environment, as with any client.
        let mut command = Command::new(&call.command);
        command.args(&call.args).envs(&call.env);
        let said = Mutex::new(Tail::without(Arc::new(secrets(call))));
        let subprocesses = self.subprocesses.get_or_init(Subprocesses::new);
        let ended = run_plugin(subprocesses, command, false, Sink::Tail(&said), self.patience).await;
        let (end, mut printed) = match ended {
            Err(error) => {
                let program = call.command.display();
                return Ran::NotRun(format!("{program} could not be started: {error}"));
            }
            Ok((End::By(Err(error)), _)) => return Ran::NotRun(format!("its end was not seen: {error}")),
            Ok(ended) => ended,
        };
        if end.is_success() {
            return Ran::Answered(Output(std::mem::take(&mut *printed)));
        }
        let last = last_words(&said.into_inner().finish(), &printed);
        Ran::Failed(with_last_words(end.to_string(), &last))
    }
}

impl Runner for Processes {
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran> {
        self.call(call).boxed()
    }
}

/// Values to redact: any value of the plugin's environment may be secret.
fn secrets(call: &Call) -> Vec<String> {
    let values = call.env.values().filter(|value| value.len() >= SHORTEST_VALUE);
    values.cloned().collect()
}

/// Returns the end of a plugin's standard error in one line; empty if it printed nothing there. Redacts all that is also in
/// `printed`, its standard output, and all long words: any of them may be a token.
fn last_words(said: &str, printed: &[u8]) -> String {
    let lines = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && line.len() <= LONGEST_LINE);
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    let text = last.join(" | ");
    let mut text = without_credentials(&text).into_owned();
    each_text(
        &serde_json::from_slice(printed).unwrap_or_default(),
        &mut |printed| {
            for word in printed.split_whitespace().filter(|word| word.len() >= SHORTEST) {
                take_out(&mut text, word);
            }
        },
    );
    let printed = String::from_utf8_lossy(printed);
    let long_enough = |word: &&str| word.len() >= SHORTEST;
    let secrets: Vec<&str> = printed.split(is_end_of_word).filter(long_enough).collect();
    let is_secret = |word: &str| {
        word.len() >= LIKE_A_TOKEN
            || (word.len() >= SHORTEST && printed.contains(word))
            || secrets.iter().any(|secret| word.contains(secret))
    };
    let mut clean = String::new();
    for piece in text.split_inclusive(is_end_of_word) {
        let word = piece.trim_end_matches(is_end_of_word);
        if is_secret(word) {
            clean.extend([TAKEN, &piece[word.len()..]]);
        } else {
            clean.push_str(piece);
        }
    }
    cut(clean, LONGEST)
}

fn is_end_of_word(c: char) -> bool {
    c.is_whitespace() || "\"'`=,:;{}[]()<>\\/|".contains(c)
}

/// Takes out each place of a secret, with the rest of the words that it begins and ends in.
fn take_out(text: &mut String, secret: &str) {
    while let Some(at) = text.find(secret) {
        let before = text[..at].trim_end_matches(|c| !is_end_of_word(c)).len();
        let after = &text[at + secret.len()..];
        let end = text.len() - after.trim_start_matches(|c| !is_end_of_word(c)).len();
        text.replace_range(before..end, TAKEN);
    }
}

/// Calls `each` with every text in a JSON value.
fn each_text(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, each)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_of_the_last_words() {
        for (said, printed, expected) in [
            ("", "", ""),
            ("one\n\ntwo\nthree\nfour\n", "", "two | three | four"),
            (
                "refused ab12:cd34:ef56:gh78:ij90 of s\u{e9}cr\u{e9}t-w\u{f6}rd",
                r#"{"status": {"token": "ab12:cd34:ef56:gh78:ij90", "password": "s\u00e9cr\u00e9t-w\u00f6rd"}}"#,
                "refused … of …",
            ),
            (
                "no cluster /fleet/lisbon-1: try again",
                "",
                "no cluster /fleet/lisbon-1: try again",
            ),
            (
                "got xCANARY-token, CANARYline",
                r#"{"status": {"token": "CANARY-token", "clientKeyData": "-----BEGIN\nCANARYline\n"}}"#,
                "got …, …",
            ),
            // It is not JSON, but it was printed where the credential goes.
            ("token=CANARY-token", "oops CANARY-token", "token=…"),
            ("got aGVsbG8gd29ybGQ0NzEx012", "", "got …"),
            ("got kKXngtEPOmHx_CtoRuDiOvLJCfSmSprA", "", "got …"),
            ("got Bearer abcdefghijklmnopqrstuvwxyz", "", "got …"),
            (&format!("a\n{}", "CANARY ".repeat(400)), "", "a"),
            (&"é ".repeat(200), "", &format!("{}…", "é ".repeat(150))),
        ] {
            assert_eq!(last_words(said, printed.as_bytes()), expected);
        }
    }
}
