//! Which rules there are, in the ledger's order: binds each id to its file and its function.

use std::sync::LazyLock;

use super::{Examine, Facts, conditions, consumers, identity, properties, updates};

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `suite/rule`, the path of its file under `suites/` without the ending.
    pub id: &'static str,
    /// Its facts.
    pub facts: Facts,
    /// Its function.
    pub examine: Examine,
}

/// Binds ids to functions; the file comes from the id.
macro_rules! rules {
    ($($id:literal => $examine:path,)*) => {
        [$(($id, include_str!(concat!("../../suites/", $id, ".yaml")), $examine as Examine)),*]
    };
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let bindings: Vec<(&'static str, &'static str, Examine)> = rules! {}.into();
    bindings
        .into_iter()
        .map(|(id, text, examine)| {
            // The files are compiled in: a test has read every one of them before a user does.
            let facts = Facts::parse(id, text).unwrap_or_else(|error| panic!("{error}"));
            Rule { id, facts, examine }
        })
        .collect()
});

/// All rules, in the ledger's order.
pub fn all() -> &'static [Rule] {
    &RULES
}

/// The rule of that id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().iter().find(|rule| rule.id == id)
}

impl Rule {
    /// The part of the id before the slash.
    pub fn suite(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }
}
