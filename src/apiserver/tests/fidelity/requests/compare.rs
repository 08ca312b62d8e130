//! Finds differences between two answers.

use std::{collections::BTreeSet, fmt};

use serde_json::{Value, json};

use super::player::Answer;

/// The path of a different status code. The values are code and body.
pub const CODE: &str = "/code";

/// One value that differs between the hubs.
#[derive(Debug)]
pub struct Difference {
    pub step: String,
    /// A JSON pointer into the answer: `/body/metadata/name`.
    pub path: String,
    /// `None` if only the real API server has it.
    pub ours: Option<Value>,
    /// `None` if only this server has it.
    pub real: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        let (ours, real) = (told(&self.ours), told(&self.real));
        write!(
            f,
            "{} › {}\n    ours:  {ours}\n    real: {real}",
            self.step, self.path
        )
    }
}

/// Compares the answers to one script, step by step.
pub fn differences(ours: &[Answer], real: &[Answer]) -> Vec<Difference> {
    assert_eq!(ours.len(), real.len(), "both hubs play the same steps");
    let mut found = Vec::new();
    for (ours, real) in ours.iter().zip(real) {
        assert_eq!(ours.step, real.step, "both hubs play the steps in the same order");
        if ours.code != real.code {
            // Nothing else can agree then: the bodies only explain the codes.
            let told = |answer: &Answer| Some(json!([answer.code, answer.value["body"]]));
            found.push(Difference {
                step: real.step.clone(),
                path: CODE.to_owned(),
                ours: told(ours),
                real: told(real),
            });
            continue;
        }
        walk(
            &real.step,
            String::new(),
            Some(&ours.value),
            Some(&real.value),
            &mut found,
        );
    }
    found
}

fn walk(step: &str, path: String, ours: Option<&Value>, real: Option<&Value>, found: &mut Vec<Difference>) {
    match (ours, real) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                walk(step, path, left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                walk(
                    step,
                    format!("{path}/{index}"),
                    left.get(index),
                    right.get(index),
                    found,
                );
            }
        }
        _ if ours == real => {}
        _ => found.push(Difference {
            step: step.to_owned(),
            path,
            ours: ours.cloned(),
            real: real.cloned(),
        }),
    }
}
