//! The diagnosis as it is printed: for people in 80 columns, and as JSON.

use evidence::api::Edition;
use report::{count, page::Page};
use serde::Serialize;

use super::{
    check::{Check, State},
    gain::{Gain, Rules},
};
use crate::command::terminal::exit::Exit;

/// The version of the document's format.
const API_VERSION: &str = "conformance.clusterprofile/v1";

/// What `doctor` found. Fields may be added, none is renamed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// `conformance.clusterprofile/v1`.
    pub api_version: &'static str,
    /// The suite that checked.
    pub suite: Suite,
    /// The edition whose rules were counted.
    pub edition: Edition,
    /// The hub.
    pub hub: Hub,
    /// Whether a run with the same flags can begin.
    pub ready: bool,
    /// The exit code: 0 if a run can begin, else the code that it would exit with.
    pub exit_code: u8,
    /// All checks, in the order in which they are made.
    pub checks: Vec<Check>,
    /// The rules that a run can judge; absent if the hub could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// What more evidence would let a run judge, each kind alone. Only what gains a rule.
    pub gains: Vec<Gain>,
}

/// The suite that checked.
#[derive(Debug, Serialize)]
pub struct Suite {
    version: &'static str,
}

/// The hub, as far as it is known.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hub {
    /// What the hub is, such as `context kind-hub` or `lab`.
    pub source: String,
    /// The API server's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The API server's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The runner's user name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The version of ClusterProfile that a run reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// How many profiles a run would judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<usize>,
}

impl Diagnosis {
    /// Puts the parts together.
    pub fn new(
        edition: Edition,
        hub: Hub,
        checks: Vec<Check>,
        rules: Option<Rules>,
        gains: Vec<Gain>,
    ) -> Self {
        let exit = super::check::exit(&checks);
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

    /// As JSON.
    pub fn json(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{value:#}\n")
    }

    /// For people, so many columns wide ([`Page::new`]). The text has colours.
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
        self.conclude(&mut page);
        page.into_text()
    }

    fn conclude(&self, page: &mut Page) {
        let number = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (errors, warnings) = (number(State::Error), number(State::Warn));
        if errors > 0 {
            let stand = if errors == 1 { "stands" } else { "stand" };
            let rest = format!(
                "{} {stand} in the way of a run (exit code {})",
                count(errors, "error"),
                self.exit_code
            );
            page.sentence("not ready:", State::Error.style(), &rest);
            return;
        }
        let rules = self.rules.map(|rules| {
            let (judged, selected) = (rules.judged.must, count(rules.selected.must, "MUST rule"));
            format!("a run can judge {judged} of {selected}")
        });
        let mut rest = rules.unwrap_or_else(|| "a run can begin".to_owned());
        if warnings > 0 {
            rest += &format!("; {}", count(warnings, "warning"));
        }
        page.sentence("ready:", State::Ok.style(), &rest);
    }
}
