//! The diagnosis: checks, as they are printed for people and as JSON.

use evidence::{
    Claim,
    api::{Edition, Role},
    redact::without_credentials,
};
use owo_colors::Style;
use report::{count, escape, page::Page};
use serde::Serialize;
use serde_json::{Value, json};

use super::evidence::{Gain, RuleCounts};
use crate::command::terminal::exit::{Exit, Failure};

/// The groups of checks, in the order in which they are shown.
const GROUPS: [&str; 4] = ["hub", "evidence", "files", "rules"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    fn shown(self) -> (&'static str, Style) {
        match self {
            State::Ok => ("ok", Style::new().green()),
            State::Missing => ("missing", Style::new().cyan()),
            State::Warn => ("warn", Style::new().yellow().bold()),
            State::Error => ("error", Style::new().red().bold()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked: a group, a slash, and a name, for example `hub/reached`.
    pub check: &'static str,
    pub state: State,
    pub fact: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The exit code of a run that cannot begin.
    #[serde(skip)]
    exit: Option<Exit>,
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
}

#[derive(Debug, Serialize)]
pub struct Diagnosis {
    edition: Edition,
    #[serde(skip)]
    is_consumer: bool,
    pub hub: Value,
    pub checks: Vec<Check>,
    /// `None` if a run could not begin on the hub.
    pub rules: Option<RuleCounts>,
    pub gains: Vec<Gain>,
}

impl Diagnosis {
    pub fn new(claim: &Claim, hub: Value) -> Self {
        Self {
            edition: claim.edition,
            is_consumer: claim.edition_of(Role::Consumer).is_some(),
            hub,
            checks: Vec::new(),
            rules: None,
            gains: Vec::new(),
        }
    }

    /// The exit code of a run. A run checks its command line before it connects, so errors of usage come first.
    pub fn exit(&self) -> Exit {
        let exits = self.checks.iter().filter_map(|check| check.exit);
        let first = exits.min_by_key(|exit| *exit != Exit::Usage);
        first.unwrap_or(Exit::Success)
    }

    /// One JSON object. Fields may be added; none is renamed.
    pub fn json(&self) -> String {
        let exit = self.exit();
        let mut value = json!(self);
        if let Some(fields) = value["hub"].as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        value["apiVersion"] = json!("conformance.clusterprofile/v1");
        value["suite"] = json!({"version": env!("CARGO_PKG_VERSION")});
        value["ready"] = json!(exit == Exit::Success);
        value["exitCode"] = json!(exit as u8);
        format!("{value:#}\n")
    }

    /// The diagnosis for people, wrapped at `width` columns.
    pub fn page(&self, width: Option<usize>) -> String {
        let mut page = Page::new(width);
        for group in GROUPS {
            let checks = self.checks.iter();
            let checks = Vec::from_iter(checks.filter(|check| check.check.starts_with(group)));
            if checks.is_empty() {
                continue;
            }
            page.heading(group);
            for check in checks {
                let (name, style) = check.state.shown();
                page.labelled(2, name, style, &check.fact);
                if let Some(remedy) = &check.remedy {
                    page.marked(12, "→", remedy);
                }
            }
            page.gap();
        }
        let (conclusion, style) = self.conclusion();
        page.hanging(&conclusion, style);
        page.into_text()
    }

    fn conclusion(&self) -> (String, Style) {
        let number = |state| self.checks.iter().filter(|check| check.state == state).count();
        let exit = self.exit();
        if exit != Exit::Success {
            let (errors, code) = (count(number(State::Error), "error"), exit as u8);
            let conclusion = format!("not ready: {errors} to fix before a run can begin (exit code {code})");
            return (conclusion, State::Error.shown().1);
        }
        let rules = self.rules.map_or_else(String::new, |rules| rules.to_string());
        let warnings = match number(State::Warn) {
            0 => String::new(),
            warnings => format!("; {}", count(warnings, "warning")),
        };
        let condition = if self.is_consumer {
            ", if the consumer claims the features that they need"
        } else {
            ""
        };
        let conclusion = format!(
            "ready: a run can judge {rules} of edition {}{condition}{warnings}",
            self.edition
        );
        (conclusion, State::Ok.shown().1)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_has_a_remedy_and_an_exit_code() {
        let usage = Failure::usage(anyhow!("failed to do it; do that"));
        let check = Check::error("a/b", &usage, "unused");
        let expected = ("failed to do it", Some("do that"));
        assert_eq!((&*check.fact, check.remedy.as_deref()), expected);
        let hub = Check::error("hub/reached", &Failure::could_not_run(anyhow!("gone")), "wait");
        assert_eq!(hub.remedy.as_deref(), Some("wait"));
        let exit = |checks: &[&Check]| {
            let mut diagnosis = Diagnosis::new(&Claim::default(), Value::Null);
            diagnosis.checks = checks.iter().map(|check| (*check).clone()).collect();
            diagnosis.exit()
        };
        assert_eq!(exit(&[&Check::ok("e/f", ""), &hub]), Exit::CouldNotRun);
        assert_eq!(exit(&[&hub, &check]), Exit::Usage);
        assert_eq!(exit(&[&Check::warn("e/f", "", "")]), Exit::Success);
    }

    #[test]
    fn control_characters_and_credentials_are_removed() {
        let check = Check::warn("a/b", "a\u{1b}[2Jb\nc", "Bearer abcdefghijklmnopqrstuvwxyz");
        assert_eq!(check.fact, "a\\u{1b}[2Jb\\nc");
        assert_eq!(check.remedy.as_deref(), Some("…"));
    }
}
