//! The parameters that writes have in common.

use super::field::{Errors, Found};
use super::request::Query;
use super::status::{Outcome, refuse_options};

/// What is done about fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// How a write is to be done.
#[derive(Clone, Debug)]
pub(super) struct WriteOptions {
    pub(super) dry_run: bool,
    pub(super) field_validation: FieldValidation,
    pub(super) field_manager: String,
    /// For an apply: other owners do not matter.
    pub(super) force: bool,
}

impl WriteOptions {
    /// Reads them from a request; `kind` is what refusals call them (`CreateOptions`).
    pub(super) fn read(query: &Query, kind: &str, agent: &str) -> Outcome<Self> {
        Self::read_further(query, kind, agent, Vec::new())
    }

    /// Reads those of a patch.
    pub(super) fn read_patch(query: &Query, agent: &str, is_apply: bool) -> Outcome<Self> {
        let mut errors = Vec::new();
        if is_apply && query.get("fieldManager").is_empty() {
            errors.required("fieldManager", "is required for apply patch");
        }
        if !is_apply && query.has("force") {
            errors.forbidden("force", "may not be specified for non-apply patch");
        }
        Self::read_further(query, "PatchOptions", agent, errors)
    }

    fn read_further(query: &Query, kind: &str, agent: &str, mut errors: Errors) -> Outcome<Self> {
        let dry_runs = query.all("dryRun");
        if dry_runs.iter().any(|value| value != "All") {
            errors.not_supported("dryRun", dry_runs, &["All"]);
        }
        let field_validation = match query.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.not_supported("fieldValidation", other, &supported);
                FieldValidation::Warn
            }
        };
        let manager = query.get("fieldManager");
        if manager.len() > 128 {
            errors.too_long("fieldManager", 128);
        }
        if let Some((at, c)) = manager.chars().enumerate().find(|(_, c)| c.is_control()) {
            let why = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
            errors.invalid("fieldManager", manager, &why);
        }
        refuse_options(kind, &errors)?;
        Ok(Self {
            dry_run: !dry_runs.is_empty(),
            field_validation,
            force: query.has("force") && !matches!(query.get("force").to_lowercase().as_str(), "0" | "false"),
            field_manager: match manager {
                "" => manager_of(agent),
                manager => manager.to_owned(),
            },
        })
    }
}

/// The name of a manager that gave none: the program in its User-Agent.
fn manager_of(agent: &str) -> String {
    let program = agent.split('/').next().unwrap_or_default();
    let name: String = program.chars().filter(|c| !c.is_control()).take(128).collect();
    match name.as_str() {
        "" => "unknown".to_owned(),
        _ => name,
    }
}
