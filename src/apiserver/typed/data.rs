//! Checks the data of Secrets and ConfigMaps.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::object::{
    field::{Errors, Found, quoted},
    names,
    value::{fields, flag, text},
};

/// The maximum size of all values, in bytes.
const MAX_DATA: i64 = 1024 * 1024;

/// The annotation that names the account of a token.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// What messages show instead of a Secret's value.
const REDACTED: &str = "<secret contents redacted>";

/// Adds the errors of a Secret, except those of its metadata. `old` is what it replaces.
pub(crate) fn check_secret(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        if new["type"] != old["type"] {
            errors.invalid("type", &new["type"], "field is immutable");
        }
        check_immutable(new, old, &["data"], errors);
    }
    check_keys(new, "data", errors);
    if bytes_in(new, "data") > MAX_DATA {
        errors.too_long("data", MAX_DATA);
    }
    check_secret_type(new, errors);
}

/// Adds the errors of a ConfigMap, except those of its metadata. `old` is what it replaces.
pub(crate) fn check_config_map(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    const PARTS: [&str; 2] = ["data", "binaryData"];
    if let Some(old) = old {
        check_immutable(new, old, &PARTS, errors);
    }
    for (key, _) in fields(new, "data").filter(|(key, _)| new["binaryData"].get(key).is_some()) {
        let why = "duplicate of key present in binaryData";
        errors.invalid(format!("data[{key}]"), key, why);
    }
    for part in PARTS {
        check_keys(new, part, errors);
    }
    let texts = fields(new, "data").map(|(_, text)| text.as_str().map_or(0, str::len) as i64);
    if texts.sum::<i64>() + bytes_in(new, "binaryData") > MAX_DATA {
        errors.too_long("", MAX_DATA);
    }
}

fn check_keys(object: &Value, part: &str, errors: &mut Errors) {
    for (key, _) in fields(object, part) {
        errors.judge(format!("{part}[{key}]"), key, names::config_key);
    }
}

/// The size of all values in base64, decoded.
fn bytes_in(object: &Value, part: &str) -> i64 {
    let texts = fields(object, part).filter_map(|(_, value)| value.as_str());
    let size = |text: &str| text.trim_end_matches('=').len() * 3 / 4;
    texts.map(size).sum::<usize>() as i64
}

/// Checks that an immutable object does not change.
fn check_immutable(new: &Value, old: &Value, parts: &[&str], errors: &mut Errors) {
    if !flag(old, "immutable") {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    if !flag(new, "immutable") {
        errors.forbidden("immutable", why);
    }
    for part in parts.iter().filter(|part| new[**part] != old[**part]) {
        errors.forbidden(part, why);
    }
}

/// Checks what the Secret's type requires.
fn check_secret_type(secret: &Value, errors: &mut Errors) {
    let value = |key: &str| secret["data"].get(key).and_then(Value::as_str);
    let mut require = |key: &str, is_there: bool| {
        if !is_there {
            errors.required(format!("data[{key}]"), "");
        }
    };
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            let account = text(&secret["metadata"]["annotations"], ACCOUNT);
            if account.is_empty() {
                errors.required(format!("metadata.annotations[{ACCOUNT}]"), "");
            }
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"]
            .into_iter()
            .for_each(|key| require(key, value(key).is_some())),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            let has_any = keys.into_iter().any(|key| value(key).is_some());
            keys.into_iter().for_each(|key| require(key, has_any));
        }
        "kubernetes.io/ssh-auth" => {
            let key = "ssh-privatekey";
            require(key, value(key).is_some_and(|key| !key.is_empty()));
        }
        "kubernetes.io/dockercfg" => check_json(secret, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => check_json(secret, ".dockerconfigjson", errors),
        _ => {}
    }
}

/// Checks that the value of `key` is a JSON object.
fn check_json(secret: &Value, key: &str, errors: &mut Errors) {
    let at = format!("data[{key}]");
    let Some(value) = secret["data"].get(key).and_then(Value::as_str) else {
        return errors.required(at, "");
    };
    let bytes = STANDARD.decode(value).unwrap_or_default();
    let kind = match serde_json::from_slice(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(Value::Array(_)) => "array",
        Ok(Value::String(_)) => "string",
        Ok(Value::Number(_)) => "number",
        Ok(Value::Bool(_)) => "bool",
        Err(error) => return errors.invalid(at, REDACTED, &syntax_error(&bytes, &error)),
    };
    let why = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    errors.invalid(at, REDACTED, &why);
}

/// Go's message about text that is not JSON, as far as it begins or ends wrongly.
fn syntax_error(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = text
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1));
    let place = line.and_then(|line| line.get(error.column().saturating_sub(1)));
    let letter = quoted(&place.copied().map(char::from).into_iter().collect::<String>());
    let letter = letter.trim_matches('"');
    let expected = if error.to_string().starts_with("trailing") {
        "after top-level value"
    } else {
        "looking for beginning of value"
    };
    format!("invalid character '{letter}' {expected}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// Base64 does not count.
    #[rstest]
    #[case(MAX_DATA, 0)]
    #[case(MAX_DATA + 1, 1)]
    fn limits_the_size_of_bytes(#[case] size: i64, #[case] expected: usize) {
        let bytes = STANDARD.encode(vec![0; usize::try_from(size).expect("a size")]);
        let mut errors = Vec::new();
        check_secret(&json!({"data": {"key": bytes}}), None, &mut errors);
        check_config_map(&json!({"binaryData": {"key": bytes}}), None, &mut errors);
        assert_eq!(errors.len(), 2 * expected, "{errors:?}");
    }
}
