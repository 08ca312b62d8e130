//! Lists in the values of properties: JSON in strings, as the CRD only stores strings.

use std::borrow::Cow;

use serde::Deserialize;

/// A string that borrows from the JSON if possible (`Cow` alone never does).
#[derive(Deserialize)]
pub struct Text<'a>(
    /// The string.
    #[serde(borrow)]
    pub Cow<'a, str>,
);

/// The strings of a JSON list; `None` for anything else.
pub fn strings(value: &str) -> Option<Vec<Cow<'_, str>>> {
    let list: Vec<Text> = serde_json::from_str(value).ok()?;
    Some(list.into_iter().map(|text| text.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_strings_are_read() {
        assert_eq!(
            strings(" [ \"a\", \"b\\n\" ] \n"),
            Some(vec!["a".into(), "b\n".into()])
        );
        assert_eq!(strings("[]"), Some(Vec::new()));
        for other in [
            "",
            "a",
            "\"a\"",
            "a,b",
            "[a]",
            "['a']",
            "[\"a\",1]",
            "[\"a\"",
            "{\"a\":\"b\"}",
            "[\"a\"]]",
        ] {
            assert_eq!(strings(other), None, "{other}");
        }
    }
}
