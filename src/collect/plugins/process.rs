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
use tokio_util::sync::CancellationToken;

use super::plan::{Call, Output, Ran, Runner};
use crate::{
    connect::{
        error::cut,
        exec::{Hidden, LARGEST},
    },
    subprocess::{End, Sink, Subprocess, Subprocesses, Tail, with_last_words},
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
/// From this length on, a random-looking word counts as a credential.
const LIKE_CHANCE: usize = 20;
/// A word without digits looks random from that many single small letters on.
const SINGLE: usize = 3;
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
        let mut printed = Output(Vec::with_capacity(LARGEST + 1));
        let said = Mutex::new(Tail::without(Arc::new(secrets(call))));
        let subprocess = Subprocess {
            command,
            is_interactive: false,
            stdout: Sink::Whole {
                into: &mut printed.0,
                most: LARGEST,
            },
            stderr: Sink::Tail(&said),
            limit: self.patience,
            grace: Duration::ZERO,
            stop: &CancellationToken::new(),
        };
        let subprocesses = self.subprocesses.get_or_init(Subprocesses::new);
        match subprocesses.run(subprocess).await {
            Err(error) => {
                let program = call.command.display();
                Ran::NotRun(format!("{program} could not be started: {error}"))
            }
            Ok(End::By(Err(error))) => Ran::NotRun(format!("its end was not seen: {error}")),
            Ok(end) if end.is_success() => Ran::Answered(printed),
            Ok(end) => {
                let last = last_words(&said.into_inner().finish(), &printed);
                Ran::Failed(with_last_words(end.to_string(), &last))
            }
        }
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

/// Returns the end of a plugin's standard error in one line; empty if it printed nothing there. Redacts everything that
/// `printed`, its standard output, holds.
pub(super) fn last_words(said: &str, printed: &Output) -> String {
    let lines = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && line.len() <= LONGEST_LINE);
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    let mut text = last.join(" | ");
    let printed = String::from_utf8_lossy(&printed.0);
    let strings = Hidden(serde_json::from_str(&printed).unwrap_or_default());
    each_string(&strings.0, &mut |string| {
        let parts = string.split_whitespace().filter(|part| part.len() >= SHORTEST);
        parts.for_each(|part| text = text.replace(part, TAKEN));
    });
    let text = without_credentials(&text);
    let clean = words(&text, |word| printed.contains(word) || is_like_chance(word));
    cut(clean, LONGEST)
}

/// Replaces each word that counts as a credential.
fn words(text: &str, is_credential: impl Fn(&str) -> bool) -> String {
    let ends = |c: char| c.is_whitespace() || "\"'`=,:;{}[]()<>\\/|".contains(c);
    let mut clean = String::new();
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        if word.len() >= SHORTEST && is_credential(word) {
            clean.extend([TAKEN, &piece[word.len()..]])
        } else {
            clean.push_str(piece)
        }
    }
    clean
}

/// Whether a word is long and has letters of both cases, and either digits or single small letters between others, which
/// names such as `ExecCredentialStatus` do not have. Of random tokens of 32 characters, one in 250 has no digit.
fn is_like_chance(word: &str) -> bool {
    let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
    let small_parts = word.split(|c: char| !c.is_ascii_lowercase());
    let single = small_parts.filter(|part| part.len() == 1).count();
    word.len() >= LIKE_CHANCE
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
        && (has(char::is_ascii_digit) || single >= SINGLE)
}

fn each_string(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| each_string(field, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_told(said: &str, printed: &str, told: &str) {
        assert_eq!(last_words(said, &Output(printed.as_bytes().to_vec())), told);
    }

    #[test]
    fn credentials_are_taken_out_of_the_last_words() {
        assert_told("", "", "");
        assert_told("one\n\ntwo\nthree\nfour\n", "", "two | three | four");
        assert_told(
            "no cluster /fleet/lisbon-1: try again",
            "",
            "no cluster /fleet/lisbon-1: try again",
        );
        let printed = r#"{"status": {"token": "CANARY-token", "clientKeyData": "-----BEGIN\nCANARYline\n"}}"#;
        assert_told("got xCANARY-token, CANARYline", printed, "got x…, …");
        // It is no JSON, but it was printed where the credential goes.
        assert_told("token=CANARY-token", "oops CANARY-token", "token=…");
        assert_told("got aGVsbG8gd29ybGQ0NzEx012", "", "got …");
        assert_told("got kKXngtEPOmHx_CtoRuDiOvLJCfSmSprA", "", "got …");
        let names = "no ExecCredentialStatusWithoutToken in ClusterProfileAccessProviders";
        assert_told(names, "", names);
        assert_told("got Bearer abcdefghijklmnopqrstuvwxyz", "", "got …");
        assert_told(&format!("a\n{}", "CANARY ".repeat(400)), "", "a");
        assert_told(&"é ".repeat(200), "", &format!("{}…", "é ".repeat(150)));
    }
}
