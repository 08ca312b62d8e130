//! The diagnosis: checks, as they are printed for people and as JSON.

use evidence::{api::Edition, redact::without_credentials};
use judge::rules::Level;
use owo_colors::Style;
use report::{count, escape, page::Page};
use serde::Serialize;
use serde_json::{Value, json};

use super::evidence::{EvidenceChecks, Gain, RuleCounts};
use crate::command::terminal::exit::{Exit, Failure};

/// The result of a check.
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

/// The output of `doctor`.
#[derive(Debug)]
pub struct Diagnosis {
    edition: Edition,
    /// What is known of the hub.
    hub: Value,
    pub checks: Vec<Check>,
    /// `None` if a run could not begin on the hub.
    rules: Option<RuleCounts>,
    gains: Vec<Gain>,
}

impl Diagnosis {
    pub fn new(edition: Edition, hub: Value, checks: Vec<Check>) -> Self {
        Self {
            edition,
            hub,
            checks,
            rules: None,
            gains: Vec::new(),
        }
    }

    /// Adds how many rules a run can judge, and what more evidence would add.
    pub fn count(&mut self, checks: &EvidenceChecks<'_>) -> Check {
        let rules = checks.count_rules();
        self.gains.clone_from(&checks.gains);
        self.rules = Some(rules);
        checks.judged_rules(&rules)
    }

    /// The exit code of a run. A run checks its command line before it connects, so errors of usage come first.
    pub fn exit(&self) -> Exit {
        let mut exits: Vec<Exit> = self.checks.iter().filter_map(|check| check.exit).collect();
        exits.sort_by_key(|exit| *exit != Exit::Usage);
        exits.first().copied().unwrap_or(Exit::Success)
    }

    /// One JSON object. Fields may be added; none is renamed.
    pub fn json(&self) -> String {
        let exit = self.exit();
        let value = json!({
            "apiVersion": "conformance.clusterprofile/v1",
            "suite": {"version": env!("CARGO_PKG_VERSION")},
            "edition": self.edition,
            "hub": self.hub,
            "ready": exit == Exit::Success,
            "exitCode": exit as u8,
            "checks": self.checks,
            "rules": self.rules,
            "gains": self.gains,
        });
        format!("{value:#}\n")
    }

    /// The diagnosis for people, wrapped at `width` columns.
    pub fn page(&self, width: Option<usize>) -> String {
        let mut page = Page::new(width);
        let mut last = "";
        for check in &self.checks {
            let group = check.check.split('/').next().unwrap_or(check.check);
            if group != last {
                if !last.is_empty() {
                    page.gap();
                }
                last = group;
                page.heading(group);
            }
            let (name, style) = check.state.shown();
            page.labelled(2, name, style, &check.fact);
            if let Some(remedy) = &check.remedy {
                page.marked(12, "→", remedy);
            }
        }
        page.gap();
        let (state, label, rest) = self.conclusion();
        page.hanging(&format!("{label} {rest}"), state.shown().1);
        page.into_text()
    }

    fn conclusion(&self) -> (State, &'static str, String) {
        let number = |state| self.checks.iter().filter(|check| check.state == state).count();
        let exit = self.exit();
        if exit != Exit::Success {
            let errors = count(number(State::Error), "error");
            let rest = format!(
                "{errors} to fix before a run can begin (exit code {})",
                exit as u8
            );
            return (State::Error, "not ready:", rest);
        }
        let mut rest = match self.rules {
            Some(rules) => {
                let selected = count(rules.selected.must, "MUST rule");
                format!("a run can judge {} of {selected}", rules.judged.must)
            }
            None => "a run can begin".to_owned(),
        };
        if number(State::Warn) > 0 {
            rest += &format!("; {}", count(number(State::Warn), "warning"));
        }
        (State::Ok, "ready:", rest)
    }
}

/// The number of rules of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub must: usize,
    pub should: usize,
    pub may: usize,
}

impl FromIterator<Level> for Amount {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Self {
        let mut amount = Self::default();
        for level in levels {
            match level {
                Level::Must => amount.must += 1,
                Level::Should => amount.should += 1,
                Level::May => amount.may += 1,
            }
        }
        amount
    }
}

impl std::fmt::Display for Amount {
    /// For example `5 MUST, 9 SHOULD rules`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let levels = [(self.must, "MUST"), (self.should, "SHOULD"), (self.may, "MAY")];
        let levels = levels.iter().filter(|(number, _)| *number > 0);
        let words: Vec<String> = levels
            .map(|(number, level)| format!("{number} {level}"))
            .collect();
        let is_one = self.must + self.should + self.may == 1;
        write!(
            f,
            "{} {}",
            words.join(", "),
            if is_one { "rule" } else { "rules" }
        )
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
        assert_eq!(
            (&*check.fact, check.remedy.as_deref()),
            ("failed to do it", Some("do that"))
        );
        let hub = Check::error("hub/reached", &Failure::could_not_run(anyhow!("gone")), "wait");
        assert_eq!(hub.remedy.as_deref(), Some("wait"));
        let exit = |checks: &[&Check]| {
            let checks = checks.iter().map(|check| (*check).clone()).collect();
            Diagnosis::new(Edition::default(), Value::Null, checks).exit()
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
