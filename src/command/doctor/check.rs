//! One line of the diagnosis.

use evidence::redact::without_credentials;
use owo_colors::Style;
use report::escape;
use serde::Serialize;

use crate::command::terminal::exit::{Exit, Failure};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing is wrong.
    Ok,
    /// The run would not collect some evidence, and some rules would not be judged.
    Missing,
    /// A run can begin, but some verdicts may be inconclusive.
    Warn,
    /// A run cannot begin.
    Error,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Warn => "warn",
            State::Error => "error",
        }
    }

    pub fn style(self) -> Style {
        match self {
            State::Ok => Style::new().green(),
            State::Missing => Style::new().cyan(),
            State::Warn => Style::new().yellow().bold(),
            State::Error => Style::new().red().bold(),
        }
    }
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked: a group, a slash, and a name, for example `hub/reached`.
    pub check: &'static str,
    pub state: State,
    /// The result in words.
    pub fact: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The exit code of a run that cannot begin.
    #[serde(skip)]
    pub exit: Option<Exit>,
}

impl Check {
    pub fn ok(check: &'static str, fact: &str) -> Self {
        Self::new(check, State::Ok, fact, None)
    }

    pub fn missing(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self::new(check, State::Missing, fact, Some(remedy))
    }

    pub fn warn(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self::new(check, State::Warn, fact, Some(remedy))
    }

    /// A run would end with this failure. The text after its first semicolon is the remedy; without one, `remedy` is.
    pub fn error(check: &'static str, failure: &Failure, remedy: &str) -> Self {
        let line = failure.in_one_line();
        let (fact, remedy) = line.split_once("; ").unwrap_or((&line, remedy));
        Self {
            exit: Some(failure.exit()),
            ..Self::new(check, State::Error, fact, Some(remedy))
        }
    }

    /// Escapes text of the hub and of files, and removes credentials.
    fn new(check: &'static str, state: State, fact: &str, remedy: Option<&str>) -> Self {
        let clean = |text: &str| escape::line(&without_credentials(text)).into_owned();
        Self {
            check,
            state,
            fact: clean(fact),
            remedy: remedy.map(clean),
            exit: None,
        }
    }

    /// The part of the name before the slash.
    pub fn group(&self) -> &'static str {
        self.check.split('/').next().unwrap_or(self.check)
    }
}

/// The exit code of a run. A run checks its command line before it connects, so errors of usage come first.
pub fn exit(checks: &[Check]) -> Exit {
    let mut exits: Vec<Exit> = checks.iter().filter_map(|check| check.exit).collect();
    exits.sort_by_key(|exit| *exit != Exit::Usage);
    exits.first().copied().unwrap_or(Exit::Success)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_has_a_remedy_and_an_exit_code() {
        let usage = Failure::usage(anyhow!("failed to do it; do that"));
        let check = Check::error("a/b", &usage, "unused");
        assert_eq!(
            (&*check.fact, check.remedy.as_deref()),
            ("failed to do it", Some("do that"))
        );
        let hub = Check::error("hub/reached", &Failure::could_not_run(anyhow!("gone")), "wait");
        assert_eq!(hub.remedy.as_deref(), Some("wait"));
        assert_eq!(exit(&[Check::ok("e/f", ""), hub.clone()]), Exit::CouldNotRun);
        assert_eq!(exit(&[hub, check]), Exit::Usage);
        assert_eq!(exit(&[Check::warn("e/f", "", "")]), Exit::Success);
    }

    #[test]
    fn control_characters_and_credentials_are_removed() {
        let check = Check::warn("a/b", "a\u{1b}[2Jb\nc", "Bearer abcdefghijklmnopqrstuvwxyz");
        assert_eq!(check.fact, "a\\u{1b}[2Jb\\nc");
        assert_eq!(check.remedy.as_deref(), Some("…"));
    }
}
