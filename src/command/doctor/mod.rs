//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod checks;
mod evidence;

use std::{path::PathBuf, time::Duration};

use ::evidence::{
    Gap, Kind,
    api::{Edition, Role},
    redact::without_credentials,
};
use anstyle::{AnsiColor, Style};
use clap::Args;
use collect::{
    clock::Clock,
    connect::{ConnectError, Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditLog, merge_into, read_audit_log},
    survey,
};
use report::{count, escape, page::Page};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::timeout};

use self::evidence::{Gain, RuleCounts};
use crate::command::{
    Exit, Failure, FileFlags, PrintFormat, RunFlags, RunPlan, Target, bail_usage, print, run::in_words,
    runtime, width,
};

/// The default limit of a request to the hub.
const REQUEST: Duration = Duration::from_secs(10);
/// The survey, the members, and the audit logs may each take as long as so many requests.
const REQUESTS: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  Check the hub and the permissions, with the flags of the run:
    clusterprofile-conformance doctor --context hub
  Check all files of a run, and ask each member:
    clusterprofile-conformance doctor --config conformance.yaml --members members.yaml

Exit codes: 0 a run can begin, 2 bad usage, a file that cannot be used, or nothing on the hub matches --namespace,
--cluster-manager or --scheduler, 3 the hub has no ClusterProfile, 4 a run could not begin.";

/// Check in seconds what a run with the same flags would collect and judge
#[derive(Debug, Args)]
#[command(after_help = "--help shows all flags and examples.", after_long_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    files: FileFlags,
    /// How to print the diagnosis
    // `run` has a flag of the same name with other values.
    #[arg(
        id = "diagnosis",
        long = "format",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    format: PrintFormat,
}

impl Doctor {
    pub fn execute(self) -> Result<Exit, Failure> {
        let run = self.run.plan()?;
        let Target::Kubeconfig(options) = &run.target else {
            bail_usage!("a test hub needs no doctor: leave out --hub and --manager");
        };
        let mut diagnosis = Diagnosis::new(run.plan.claim.edition, run.target.name());
        for (flag, failure) in &run.unusable {
            let remedy = format!("fix the file, or leave out {flag}");
            diagnosis.add_failure(evidence::check_of(flag), failure, &remedy);
        }
        if let Err(failure) = self.files.prepare(&run.inputs) {
            let remedy = "name a file in a folder that you may write to";
            diagnosis.add_failure("files/outputs", &failure, remedy);
        }
        let runtime = runtime(false)?;
        runtime.block_on(diagnosis.add_answers(&run, options.clone()));
        // A credential plugin or an audit log may hang.
        runtime.shutdown_background();
        print(&match self.format {
            PrintFormat::Pretty => diagnosis.page(width()),
            PrintFormat::Json => diagnosis.json(),
        })?;
        Ok(diagnosis.exit)
    }
}

/// Reads the audit logs that the user named, if there are any.
async fn read_logs(logs: Vec<PathBuf>, limit: Duration) -> Option<Result<AuditLog, String>> {
    if logs.is_empty() {
        return None;
    }
    let reading = spawn_blocking(move || read_audit_log(&logs));
    Some(match timeout(limit, reading).await {
        Ok(Ok(read)) => read.map_err(|error| error.to_string()),
        _ => {
            let limit = in_words(limit);
            let remedy = "give it more time with --request-timeout";
            Err(format!("the audit log cannot be read in {limit}; {remedy}"))
        }
    })
}

impl Diagnosis {
    /// Asks the hub and the members what a run would see first, and reads the audit logs.
    async fn add_answers(&mut self, run: &RunPlan, mut options: KubeconfigOptions) {
        let limit = match *options.request_timeout.get_or_insert(REQUEST) {
            Duration::ZERO => Duration::MAX,
            limit => limit.saturating_mul(REQUESTS),
        };
        let (plan, clock) = (&run.plan, Clock::system());
        let writes = run.driving.as_ref().is_some_and(|driving| driving.mutations);
        let answers = async {
            let hub = Connection::from_kubeconfig(&options).await?;
            let (surveyed, reached) = futures::join!(
                survey(&hub, plan, writes, clock, limit),
                reach_members(&plan.members, &plan.scope, clock, limit)
            );
            Ok((hub, surveyed, reached))
        };
        let (answers, log) = futures::join!(answers, read_logs(plan.audit_logs.clone(), limit));
        let (mut surveyed, mut gaps) = (None, Vec::new());
        match answers.map_err(|error: ConnectError| Failure::from(error)) {
            Ok((hub, survey, reached)) => {
                surveyed = self.add_hub(&hub, survey);
                gaps.extend(self.add_members(&plan.members, &reached));
            }
            Err(failure) => self.add_failure("hub/reached", &failure, checks::OTHER_HUB),
        }
        match &log {
            None => {}
            Some(Ok(log)) => self.add_audit_log(log),
            // The list of missing evidence has it.
            Some(Err(error)) if surveyed.is_some() => gaps.push(Gap::of(Kind::Requests, error.clone())),
            Some(Err(error)) => {
                let (fact, remedy) = split_remedy(error);
                self.add(evidence::AUDIT_LOG, CheckState::Warn, fact, remedy);
            }
        }
        if let Some(driving) = &run.driving {
            self.add_programs(driving);
        }
        let Some(mut requested) = surveyed else { return };
        if let Some(driving) = &run.driving {
            self.add_mutations(driving.mutations, &requested.header.permissions);
            evidence::request_driven(&mut requested);
        }
        if let Some(Ok(mut log)) = log {
            // A run loses nothing by what is missing of an earlier time.
            log.gaps.retain(|gap| gap.until.is_none());
            merge_into(&mut requested, log);
        }
        requested.gaps.extend(gaps);
        self.add_evidence(&requested, run);
        self.add_writers(&requested);
    }
}

/// Splits a text into what is wrong, and what to do about it.
fn split_remedy(text: &str) -> (&str, Option<&str>) {
    let parts = text.rsplit_once("; ").or_else(|| text.split_once(": grant "));
    parts.map_or((text, None), |(fact, remedy)| (fact, Some(remedy)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Nothing is wrong.
    Ok,
    /// The run would not collect some evidence, and some rules would not be judged.
    Missing,
    /// A run can begin, but some verdicts may be inconclusive.
    Warn,
    /// A run cannot begin.
    Error,
}

impl CheckState {
    fn label(self) -> (&'static str, Style) {
        match self {
            CheckState::Ok => ("ok", AnsiColor::Green.on_default()),
            CheckState::Missing => ("missing", AnsiColor::Cyan.on_default()),
            CheckState::Warn => ("warn", AnsiColor::Yellow.on_default().bold()),
            CheckState::Error => ("error", AnsiColor::Red.on_default().bold()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What was checked: a group, a slash, and a name, for example `hub/reached`.
    pub check: &'static str,
    pub state: CheckState,
    pub fact: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Escapes text of the hub and of files, and removes credentials.
fn clean(text: &str) -> String {
    escape::line(&without_credentials(text)).into_owned()
}

#[derive(Debug, Serialize)]
pub struct Diagnosis {
    edition: Edition,
    pub hub: Value,
    pub checks: Vec<DoctorCheck>,
    /// `None` if a run could not begin on the hub.
    pub rules: Option<RuleCounts>,
    pub gains: Vec<Gain>,
    /// How a run that cannot begin would end.
    #[serde(skip)]
    exit: Exit,
}

impl Diagnosis {
    pub fn new(edition: Edition, hub: String) -> Self {
        Self {
            edition,
            hub: json!({"source": hub}),
            checks: Vec::new(),
            rules: None,
            gains: Vec::new(),
            exit: Exit::Success,
        }
    }

    pub fn ok(&mut self, check: &'static str, fact: &str) {
        self.add(check, CheckState::Ok, fact, None);
    }

    pub fn missing(&mut self, check: &'static str, fact: &str, remedy: &str) {
        self.add(check, CheckState::Missing, fact, Some(remedy));
    }

    pub fn warn(&mut self, check: &'static str, fact: &str, remedy: &str) {
        self.add(check, CheckState::Warn, fact, Some(remedy));
    }

    /// Adds the failure that a run would end with. The text after its first semicolon is the remedy; without one, `remedy`
    /// is.
    pub fn add_failure(&mut self, check: &'static str, failure: &Failure, remedy: &str) {
        let line = failure.in_one_line();
        let (fact, own_remedy) = split_remedy(&line);
        self.add(check, CheckState::Error, fact, own_remedy.or(Some(remedy)));
        // A run checks its command line before it connects.
        if self.exit == Exit::Success || failure.exit() == Exit::Usage {
            self.exit = failure.exit();
        }
    }

    fn add(&mut self, check: &'static str, state: CheckState, fact: &str, remedy: Option<&str>) {
        self.checks.push(DoctorCheck {
            check,
            state,
            fact: clean(fact),
            remedy: remedy.map(clean),
        });
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
        for check in &self.checks {
            let (name, style) = check.state.label();
            page.labelled(0, name, style, &check.fact);
            if let Some(remedy) = &check.remedy {
                page.marked(10, "→", remedy);
            }
        }
        page.gap();
        let is_ready = self.exit == Exit::Success;
        let state = if is_ready {
            CheckState::Ok
        } else {
            CheckState::Error
        };
        page.hanging(&self.conclusion(), state.label().1);
        page.into_text()
    }

    fn conclusion(&self) -> String {
        let number = |state| self.checks.iter().filter(|check| check.state == state).count();
        let Some(rules) = self.rules.filter(|_| self.exit == Exit::Success) else {
            let (errors, code) = (count(number(CheckState::Error), "error"), self.exit as u8);
            return format!("not ready: {errors} to fix before a run can begin (exit code {code})");
        };
        let levels = rules.judged.by_level().into_iter().zip(rules.selected.by_level());
        let rules = levels.map(|((judged, level), (all, _))| format!("{judged} of {all} {level}"));
        let rules = Vec::from_iter(rules).join(", ");
        let condition = if self.edition.role() == Role::Consumer {
            ", if the consumer claims the features that they need"
        } else {
            ""
        };
        let warnings = match number(CheckState::Warn) {
            0 => String::new(),
            warnings => format!("; {}", count(warnings, "warning")),
        };
        let edition = self.edition;
        format!("ready: a run can judge {rules} rules of edition {edition}{condition}{warnings}")
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_has_a_remedy_and_an_exit_code() {
        let mut diagnosis = Diagnosis::new(Edition::default(), String::new());
        assert_eq!(diagnosis.exit, Exit::Success);
        let gone = Failure::could_not_run(anyhow!("gone"));
        diagnosis.add_failure("hub/reached", &gone, "wait");
        assert_eq!(diagnosis.exit, Exit::CouldNotRun);
        let usage = Failure::usage(anyhow!("failed to do it; do that"));
        diagnosis.add_failure("evidence/driver", &usage, "unused");
        assert_eq!(diagnosis.exit, Exit::Usage);
        diagnosis.add_failure("hub/reached", &gone, "wait");
        assert_eq!(diagnosis.exit, Exit::Usage);
        let checks = diagnosis.checks.iter();
        let facts = Vec::from_iter(checks.map(|check| (&*check.fact, check.remedy.as_deref())));
        assert_eq!(
            facts,
            [
                ("gone", Some("wait")),
                ("failed to do it", Some("do that")),
                ("gone", Some("wait"))
            ]
        );
    }

    #[test]
    fn control_characters_and_credentials_are_removed() {
        let mut diagnosis = Diagnosis::new(Edition::default(), String::new());
        diagnosis.warn("a/b", "a\u{1b}[2Jb\nc", "Bearer abcdefghijklmnopqrstuvwxyz");
        let check = &diagnosis.checks[0];
        assert_eq!(check.fact, "a\\u{1b}[2Jb\\nc");
        assert_eq!(check.remedy.as_deref(), Some("…"));
    }
}
