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
const GROUPS: [&str; 3] = ["hub", "evidence", "rules"];

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
}

impl Check {
    pub fn ok(check: &'static str, fact: &str) -> Self {
        Self {
            check,
            state: State::Ok,
            fact: clean(fact),
            remedy: None,
        }
    }

    pub fn missing(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self {
            state: State::Missing,
            remedy: Some(clean(remedy)),
            ..Self::ok(check, fact)
        }
    }

    pub fn warn(check: &'static str, fact: &str, remedy: &str) -> Self {
        Self {
            state: State::Warn,
            ..Self::missing(check, fact, remedy)
        }
    }
}

/// Escapes text of the hub and of files, and removes credentials.
fn clean(text: &str) -> String {
    escape::line(&without_credentials(text)).into_owned()
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
    /// How a run that cannot begin would end.
    #[serde(skip)]
    exit: Exit,
}

impl Diagnosis {
    pub fn new(claim: &Claim, hub: String) -> Self {
        Self {
            edition: claim.edition,
            is_consumer: claim.edition_of(Role::Consumer).is_some(),
            hub: json!({"source": hub}),
            checks: Vec::new(),
            rules: None,
            gains: Vec::new(),
            exit: Exit::Success,
        }
    }

    /// Adds the failure that a run would end with. The text after its first semicolon is the remedy; without one, `remedy`
    /// is.
    pub fn add_failure(&mut self, check: &'static str, failure: &Failure, remedy: &str) {
        let line = failure.in_one_line();
        let (fact, remedy) = line.split_once("; ").unwrap_or((&line, remedy));
        self.checks.push(Check {
            state: State::Error,
            ..Check::missing(check, fact, remedy)
        });
        self.exit = failure.exit();
    }

    /// The exit code of a run that cannot begin; else 0.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// One JSON object. Fields may be added; none is renamed.
    pub fn json(&self) -> String {
        let mut value = json!(self);
        if let Some(fields) = value["hub"].as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        value["apiVersion"] = json!("conformance.clusterprofile/v1");
        value["suite"] = json!({"version": env!("CARGO_PKG_VERSION")});
        value["ready"] = json!(self.exit == Exit::Success);
        value["exitCode"] = json!(self.exit as u8);
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
        let state = if self.exit == Exit::Success {
            State::Ok
        } else {
            State::Error
        };
        page.hanging(&self.conclusion(), state.shown().1);
        page.into_text()
    }

    fn conclusion(&self) -> String {
        let Some(rules) = self.rules.filter(|_| self.exit == Exit::Success) else {
            let code = self.exit as u8;
            return format!("not ready: 1 error to fix before a run can begin (exit code {code})");
        };
        let condition = if self.is_consumer {
            ", if the consumer claims the features that they need"
        } else {
            ""
        };
        let warnings = self.checks.iter().filter(|check| check.state == State::Warn);
        let warnings = match warnings.count() {
            0 => String::new(),
            number => format!("; {}", count(number, "warning")),
        };
        let edition = self.edition;
        format!("ready: a run can judge {rules} of edition {edition}{condition}{warnings}")
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_has_a_remedy_and_an_exit_code() {
        let mut diagnosis = Diagnosis::new(&Claim::default(), String::new());
        assert_eq!(diagnosis.exit(), Exit::Success);
        let usage = Failure::usage(anyhow!("failed to do it; do that"));
        diagnosis.add_failure("hub/reached", &usage, "unused");
        assert_eq!(diagnosis.exit(), Exit::Usage);
        let gone = Failure::could_not_run(anyhow!("gone"));
        diagnosis.add_failure("hub/reached", &gone, "wait");
        assert_eq!(diagnosis.exit(), Exit::CouldNotRun);
        let checks = diagnosis.checks.iter();
        let shown = Vec::from_iter(checks.map(|check| (&*check.fact, check.remedy.as_deref())));
        assert_eq!(
            shown,
            [("failed to do it", Some("do that")), ("gone", Some("wait"))]
        );
    }

    #[test]
    fn control_characters_and_credentials_are_removed() {
        let check = Check::warn("a/b", "a\u{1b}[2Jb\nc", "Bearer abcdefghijklmnopqrstuvwxyz");
        assert_eq!(check.fact, "a\\u{1b}[2Jb\\nc");
        assert_eq!(check.remedy.as_deref(), Some("…"));
    }
}
