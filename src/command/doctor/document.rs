//! The diagnosis as it is printed: for people in 80 columns, and as JSON.

use std::fmt;

use evidence::api::Edition;
use judge::rules::Level;
use report::{count, page::Page};
use serde::Serialize;

use super::check::{Check, State, exit};
use crate::command::terminal::exit::Exit;

/// The version of the document's format.
const API_VERSION: &str = "conformance.clusterprofile/v1";

/// The output of `doctor`. Fields may be added; none is renamed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    pub api_version: &'static str,
    pub suite: Suite,
    /// The edition whose rules were counted.
    pub edition: Edition,
    pub hub: Hub,
    /// Whether a run with the same flags can begin.
    pub ready: bool,
    /// 0 if a run can begin, else the exit code of that run.
    pub exit_code: u8,
    pub checks: Vec<Check>,
    /// Absent if the hub did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleCounts>,
    /// The rules that one more kind of evidence lets a run judge; only kinds that add a rule.
    pub gains: Vec<Gain>,
}

#[derive(Debug, Serialize)]
pub struct Suite {
    version: &'static str,
}

/// The hub; what is unknown is absent.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hub {
    /// For example `context kind-hub` or `lab`.
    pub source: String,
    /// The address of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The runner's user name on the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The version of ClusterProfile that a run reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// How many profiles a run would judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<usize>,
}

/// The number of rules of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub must: usize,
    pub should: usize,
    pub may: usize,
}

/// The rules that one more kind of evidence lets a run judge.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// The flag or the permission to add.
    pub with: String,
    #[serde(flatten)]
    pub amount: Amount,
    /// Ids of rules.
    pub rules: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// The selected rules of the edition.
    pub selected: Amount,
    /// Those that a run can judge.
    pub judged: Amount,
}

impl Diagnosis {
    pub fn new(
        edition: Edition,
        hub: Hub,
        checks: Vec<Check>,
        rules: Option<RuleCounts>,
        gains: Vec<Gain>,
    ) -> Self {
        let exit = exit(&checks);
        Self {
            api_version: API_VERSION,
            suite: Suite {
                version: env!("CARGO_PKG_VERSION"),
            },
            edition,
            hub,
            ready: exit == Exit::Success,
            exit_code: exit as u8,
            checks,
            rules,
            gains,
        }
    }

    pub fn json(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{value:#}\n")
    }

    /// The diagnosis for people, wrapped at `width` columns.
    pub fn page(&self, width: Option<usize>) -> String {
        let mut page = Page::new(width);
        let mut group = "";
        for check in &self.checks {
            if check.group() != group {
                if !group.is_empty() {
                    page.gap();
                }
                group = check.group();
                page.heading(group);
            }
            page.labelled(2, check.state.name(), check.state.style(), &check.fact);
            if let Some(remedy) = &check.remedy {
                page.marked(12, "→", remedy);
            }
        }
        page.gap();
        let (verdict, style, rest) = self.conclusion();
        page.hanging(&format!("{verdict} {rest}"), style);
        page.into_text()
    }

    fn conclusion(&self) -> (&'static str, owo_colors::Style, String) {
        let number = |state| self.checks.iter().filter(|check| check.state == state).count();
        if !self.ready {
            let errors = count(number(State::Error), "error");
            let rest = format!(
                "{errors} to fix before a run can begin (exit code {})",
                self.exit_code
            );
            return ("not ready:", State::Error.style(), rest);
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
        ("ready:", State::Ok.style(), rest)
    }
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

impl fmt::Display for Amount {
    /// For example `5 MUST, 9 SHOULD rules`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = [(self.must, "MUST"), (self.should, "SHOULD"), (self.may, "MAY")];
        let words: Vec<String> = levels
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, level)| format!("{number} {level}"))
            .collect();
        let noun = if self.must + self.should + self.may == 1 {
            "rule"
        } else {
            "rules"
        };
        write!(f, "{} {noun}", words.join(", "))
    }
}
