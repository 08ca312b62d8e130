//! One line of the diagnosis, and all of them.

use evidence::redact::without_credentials;
use owo_colors::Style;
use report::escape;
use serde::Serialize;

use crate::command::terminal::exit::{Exit, Failure};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing is wrong.
    Ok,
    /// Evidence is not asked for or not allowed, so that rules stay unjudged. A run can begin.
    Missing,
    /// A run can begin, but its verdicts may suffer.
    Warn,
    /// A run cannot begin.
    Error,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Warn => "warn",
            State::Error => "error",
        }
    }

    /// How a terminal shows it.
    pub fn style(self) -> Style {
        match self {
            State::Ok => Style::new().green(),
            State::Missing => Style::new().cyan(),
            State::Warn => Style::new().yellow().bold(),
            State::Error => Style::new().red().bold(),
        }
    }
}

/// One check, and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked: a group, a slash and a name, such as `hub/reached`.
    pub check: &'static str,
    /// How it ended.
    pub state: State,
    /// What was found, for people.
    pub fact: String,
    /// What to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The code with which a run would exit, if it cannot begin.
    #[serde(skip)]
    pub exit: Option<Exit>,
}

impl Check {
    /// Nothing is wrong.
    pub fn ok(check: &'static str, fact: &str) -> Self {
        Self::of(check, State::Ok, fact, None)
    }

    /// Evidence is missing.
    pub fn missing(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self::of(check, State::Missing, fact, Some(remedy))
    }

    /// Verdicts may suffer.
    pub fn warn(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self::of(check, State::Warn, fact, Some(remedy))
    }

    /// A run would end with that failure. What to do stands behind the first semicolon of its text, if it says so.
    pub fn error(check: &'static str, failure: &Failure) -> Self {
        let told = failure.in_one_line();
        let (fact, remedy) = match told.split_once("; ") {
            Some((fact, remedy)) => (fact, Some(remedy)),
            None => (told.as_str(), Some(usual_remedy(check))),
        };
        Self {
            exit: Some(failure.exit()),
            ..Self::of(check, State::Error, fact, remedy)
        }
    }

    /// Replaces the remedy.
    pub fn with_remedy(mut self, remedy: &str) -> Self {
        self.remedy = Some(clean(remedy));
        self
    }

    fn of(check: &'static str, state: State, fact: &str, remedy: Option<&str>) -> Self {
        Self {
            check,
            state,
            fact: clean(fact),
            remedy: remedy.map(clean),
            exit: None,
        }
    }

    /// The group of the check: what stands before the slash.
    pub fn group(&self) -> &'static str {
        self.check.split('/').next().unwrap_or(self.check)
    }
}

/// What to do about an error that does not say so itself.
fn usual_remedy(check: &str) -> &'static str {
    match check {
        "evidence/members" => "fix the file, or leave out --members",
        "evidence/plugins" => "fix the file, or leave out --provider-file",
        "evidence/audit-log" => "name the API server's log, or leave out --audit-log",
        "evidence/driver" => "fix the file, or leave out --driver",
        "files/waivers" => "fix the file, or leave out --waivers",
        "files/outputs" => "name a file in a folder that you may write to",
        _ => "remove the cause, or choose another hub with --context",
    }
}

/// Makes text harmless that may hold words of the hub or of a file.
fn clean(text: &str) -> String {
    escape::line(&without_credentials(text)).into_owned()
}

/// The code to exit with: that of a run. A run checks its command line before it asks a hub.
pub fn exit(checks: &[Check]) -> Exit {
    let codes = || checks.iter().filter_map(|check| check.exit);
    codes()
        .find(|exit| *exit == Exit::Usage)
        .or_else(|| codes().next())
        .unwrap_or(Exit::Success)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_gives_its_remedy_and_its_code() {
        let usage = Failure::usage(anyhow!("failed to do it; do that"));
        let check = Check::error("a/b", &usage);
        assert_eq!(
            (&*check.fact, check.remedy.as_deref()),
            ("failed to do it", Some("do that"))
        );
        let hub = Check::error("hub/reached", &Failure::could_not_run(anyhow!("gone")));
        assert!(
            hub.remedy
                .as_ref()
                .is_some_and(|remedy| remedy.contains("--context"))
        );
        assert_eq!(exit(&[Check::ok("e/f", ""), hub.clone()]), Exit::CouldNotRun);
        assert_eq!(exit(&[hub, check]), Exit::Usage);
        assert_eq!(exit(&[Check::warn("e/f", "", "")]), Exit::Success);
    }

    #[test]
    fn text_of_others_is_harmless() {
        let check = Check::warn("a/b", "a\u{1b}[2Jb\nc", "Bearer abcdefghijklmnopqrstuvwxyz");
        assert_eq!(check.fact, "a\\u{1b}[2Jb\\nc");
        assert_eq!(check.remedy.as_deref(), Some("…"));
    }
}
