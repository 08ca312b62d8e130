//! What a consumer hands over to a credential plugin.

use evidence::{
    Evidence,
    api::{AccessProvider, names},
};
use serde_json::{Number, Value};

use crate::{
    rules::consumer::support::testbed::{Play, extension},
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
};

/// `consumer-exec/config-verbatim`
///
/// The plugin gets what the profile has for it as its cluster's config: all of it, and nothing else.
pub(in crate::rules) fn config_verbatim(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("the consumer ran no plugin for a profile with a config");
    for call in play.plugin_calls() {
        let Some(cluster) = &call.cluster else { continue };
        let at = call.at.as_microsecond();
        let is_its = |entry: &AccessProvider| play.is_call_of(call, entry);
        let config =
            |entry: &AccessProvider| extension(entry, names::EXTENSION_EXEC).map(|json| json.value());
        let given = cluster.config.as_ref().map_or(Value::Null, |json| json.value());
        let fits = |entry: &AccessProvider| same(&config(entry).unwrap_or_default(), &given);
        if !play.is_against(at, is_its, fits) {
            if !given.is_null() && play.may_have_had(at, is_its) {
                findings.examine();
            }
            continue;
        }
        let Some((profile, entry)) = play.entry_of(call) else {
            continue;
        };
        findings.examine();
        let shown =
            |value: Option<Value>| value.map_or(ABSENT.to_owned(), |value| redacted(&value.to_string()));
        findings.report(
            Finding::on(
                profile,
                "the consumer changes what the profile says to the plugin",
            )
            .at(format!(
                "status.accessProviders[].cluster.extensions[{}]",
                names::EXTENSION_EXEC
            ))
            .expected(shown(config(entry)))
            .observed(format!(
                "{} in the call of {} at {}",
                shown(cluster.config.as_ref().map(|json| json.value())),
                redacted(&call.provider),
                call.at
            )),
        );
    }
}

/// Whether two values are the same in JSON, in which a number has no one form.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut fields = one.iter();
            one.len() == other.len()
                && fields.all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// `2.0` and `2`, but not the nearest double to a whole number that has none.
fn same_number(one: &Number, other: &Number) -> bool {
    let whole = |number: &Number| match (number.as_i128(), number.as_f64()) {
        (Some(whole), _) => Some(whole),
        // Within this range, a double without a fraction is that whole number.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "checked by its range and its fraction"
        )]
        (None, Some(double)) if double.fract() == 0.0 && double.abs() < 1e30 => Some(double as i128),
        _ => None,
    };
    whole(one).is_some() && whole(one) == whole(other)
}
