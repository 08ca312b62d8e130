//! Parses the options of writes.

use crate::{
    context::Context,
    fields::managed_fields::{FieldValidation, WriteRequest},
    object::{
        field::ErrorCollector,
        status::{HandlerResult, refuse_options},
    },
    store::route::Route,
};

/// The media type of applies.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

impl Context<'_> {
    /// The write that the request asks for. `kind` is the kind of its options (`CreateOptions`).
    pub(crate) fn write_of<'n>(&self, route: &'n Route, kind: &str) -> HandlerResult<WriteRequest<'n>> {
        let query = &self.info.query;
        let mut errors = Vec::new();
        let (manager, dry_runs) = (query.get("fieldManager"), query.all("dryRun"));
        let (is_patch, is_apply) = (kind == "PatchOptions", self.content_type == APPLY_PATCH);
        if is_patch && is_apply && manager.is_empty() {
            errors.required("fieldManager", "is required for apply patch");
        }
        if is_patch && !is_apply && query.has("force") {
            errors.forbidden("force", "may not be specified for non-apply patch");
        }
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
        if manager.len() > 128 {
            errors.too_long("fieldManager", 128);
        }
        if let Some((at, c)) = manager.chars().enumerate().find(|(_, c)| c.is_control()) {
            let why = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
            errors.invalid("fieldManager", manager, &why);
        }
        refuse_options(kind, &errors)?;
        let manager = match manager {
            "" => &manager_of(self.agent),
            manager => manager,
        };
        Ok(WriteRequest {
            dry_run: !dry_runs.is_empty(),
            field_validation,
            force: query.has("force") && !matches!(query.get("force").to_lowercase().as_str(), "0" | "false"),
            ..WriteRequest::new(route, manager, &self.state.time())
        })
    }
}

/// The default field manager: the program in the User-Agent.
fn manager_of(agent: &str) -> String {
    let program = agent.split('/').next().unwrap_or_default();
    let name: String = program.chars().filter(|c| !c.is_control()).take(128).collect();
    match name.as_str() {
        "" => "unknown".to_owned(),
        _ => name,
    }
}
