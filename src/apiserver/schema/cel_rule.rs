//! Rules of a schema: expressions, compiled once, and the escaping of field names.

use kube_cel::cel::{Context, ParseErrors, Program, Value as Cel};
use serde::Deserialize;

/// An expression of a rule, compiled once.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) program: Result<Program, ParseErrors>,
    /// It uses `oldSelf`.
    pub(super) uses_old: bool,
}

impl From<String> for Expression {
    fn from(text: String) -> Self {
        let program = Program::compile(&text);
        let has = |program: &Program| program.references().has_variable("oldSelf");
        let uses_old = program.as_ref().is_ok_and(has);
        Self {
            text,
            program,
            uses_old,
        }
    }
}

impl Default for Expression {
    fn default() -> Self {
        String::new().into()
    }
}

/// One rule of one node.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) rule: Expression,
    pub(super) message: String,
    pub(super) message_expression: Expression,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: Option<bool>,
}

impl Rule {
    /// True if it compares with the old value. Without one, it is not evaluated.
    pub(super) fn is_transition(&self) -> bool {
        self.rule.uses_old
    }

    /// The message when the rule does not hold.
    pub(super) fn explanation(&self, context: &Context<'_>) -> String {
        let program = self.message_expression.program.as_ref().ok();
        match program.map(|program| program.execute(context)) {
            Some(Ok(Cel::String(text))) if !text.trim().is_empty() && !text.trim().contains('\n') => {
                text.trim().to_owned()
            }
            _ if self.message.is_empty() => format!("failed rule: {}", self.rule.text.trim()),
            _ => self.message.trim().to_owned(),
        }
    }
}

/// Reserved words of CEL.
const RESERVED: &str = "true false null in as break const continue else for function if import let loop package \
                        namespace return var void while";

/// A field's name, escaped for use in an expression.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.split(' ').any(|word| word == name) {
        return format!("__{name}__");
    }
    if !name.contains(['_', '.', '-', '/']) {
        return name.to_owned();
    }
    // Two underscores are escaped, a single one is not.
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
