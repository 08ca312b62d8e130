//! Naming rules on the command line.

use clusterprofile_conformance::{
    api::UnknownName,
    rules::{self, Rule},
};

/// The rule of that id.
///
/// # Errors
/// When there is none; the error suggests the nearest.
pub fn named(id: &str) -> Result<&'static Rule, UnknownName> {
    rules::find(id).ok_or_else(|| unknown(id))
}

/// The error for a name that is no rule's: people leave out the suite, or give it alone.
pub fn unknown(given: &str) -> UnknownName {
    let ids = rules::all().iter().map(|rule| rule.id);
    if given.contains('/') {
        return UnknownName::among("rule", given, ids);
    }
    let short = |id: &'static str| id.split_once('/').map_or(id, |(_, name)| name);
    let suites = rules::all().iter().map(|rule| rule.suite());
    let mut error = UnknownName::among("rule", given, ids.clone().map(short).chain(suites));
    // Suggest an id where there is one: it can be given anywhere.
    if let Some(id) = ids
        .into_iter()
        .find(|id| Some(short(id)) == error.nearest.as_deref())
    {
        error.nearest = Some(id.to_owned());
    }
    error
}
