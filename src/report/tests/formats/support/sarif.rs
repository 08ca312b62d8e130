//! SARIF, by what its standard and GitHub's code scanning ask of a file.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// What this suite relies on: what readers require, the values that they know, and nothing that they do not.
fn schema() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let short = json!({"type": "string", "minLength": 1, "maxLength": 1024});
    let level = json!({"enum": ["none", "note", "warning", "error"]});
    let number = json!({"type": "integer", "minimum": 1});
    let object = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false});
    let message = |text: &Value| object(&["text"], json!({"text": text, "markdown": text}));
    let region = object(
        &["startLine", "startColumn", "endLine", "endColumn"],
        json!({"startLine": number, "startColumn": number, "endLine": number, "endColumn": number}),
    );
    let artifact = object(
        &["uri"],
        json!({"uri": {"type": "string", "pattern": "^[A-Za-z0-9._%-][A-Za-z0-9._%/-]*$"}}),
    );
    let location = object(
        &["physicalLocation", "logicalLocations"],
        json!({
            "physicalLocation": object(
                &["artifactLocation", "region"],
                json!({"artifactLocation": artifact, "region": region}),
            ),
            "logicalLocations": {"type": "array", "minItems": 1, "items": object(
                &["name", "fullyQualifiedName", "kind"],
                json!({"name": text, "fullyQualifiedName": text, "kind": {"const": "resource"}}),
            )},
            "message": message(&text),
        }),
    );
    let suppression = object(
        &["kind", "status", "justification"],
        json!({"kind": {"const": "external"}, "status": {"const": "accepted"}, "justification": text}),
    );
    let result = object(
        &[
            "ruleId",
            "ruleIndex",
            "level",
            "message",
            "locations",
            "partialFingerprints",
        ],
        json!({
            "ruleId": text, "ruleIndex": {"type": "integer", "minimum": 0}, "level": level, "message": message(&text),
            "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": location},
            "partialFingerprints": object(
                &["primaryLocationLineHash"],
                json!({"primaryLocationLineHash": {"type": "string", "pattern": "^[0-9a-f]{32}:[0-9]+$"}}),
            ),
            "suppressions": {"type": "array", "minItems": 1, "items": suppression},
        }),
    );
    let rule = object(
        &[
            "id",
            "name",
            "shortDescription",
            "fullDescription",
            "help",
            "helpUri",
            "defaultConfiguration",
            "properties",
        ],
        json!({
            "id": text, "name": {"type": "string", "maxLength": 255, "pattern": "^[A-Z][A-Za-z0-9]*$"},
            "shortDescription": message(&short), "fullDescription": message(&short), "help": message(&text),
            "helpUri": {"type": "string", "pattern": "^https://"},
            "defaultConfiguration": object(&["level"], json!({"level": {"enum": ["note", "warning", "error"]}})),
            "properties": object(
                &["precision", "problem.severity", "tags", "level", "basis", "source"],
                json!({
                    "precision": {"enum": ["very-high", "high", "medium", "low"]},
                    "problem.severity": {"enum": ["error", "warning", "recommendation"]},
                    "tags": {"type": "array", "maxItems": 10, "items": text, "uniqueItems": true},
                    "level": {"enum": ["MUST", "SHOULD", "MAY"]},
                    "basis": {"enum": ["explicit", "derived", "guide"]}, "source": text,
                }),
            ),
        }),
    );
    let reference = object(
        &["id", "index"],
        json!({"id": text, "index": {"type": "integer", "minimum": 0}}),
    );
    let notification = object(
        &["message", "level"],
        json!({"message": message(&text), "level": level, "associatedRule": reference}),
    );
    let invocation = object(
        &["executionSuccessful", "endTimeUtc", "toolExecutionNotifications"],
        json!({
            "executionSuccessful": {"type": "boolean"}, "endTimeUtc": {"type": "string", "pattern": "Z$"},
            "toolExecutionNotifications": {"type": "array", "items": notification},
        }),
    );
    let driver = object(
        &["name", "semanticVersion", "rules"],
        json!({"name": text, "semanticVersion": text, "rules": {"type": "array", "maxItems": 25000, "items": rule}}),
    );
    let run = object(
        &["tool", "results", "invocations"],
        json!({
            "tool": object(&["driver"], json!({"driver": driver})),
            "invocations": {"type": "array", "minItems": 1, "maxItems": 1, "items": invocation},
            "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            "properties": {"type": "object"},
            "results": {"type": "array", "maxItems": 25000, "items": result},
        }),
    );
    object(
        &["$schema", "version", "runs"],
        json!({
            "$schema": {"type": "string", "pattern": "^https://"},
            "version": {"const": "2.1.0"},
            "runs": {"type": "array", "minItems": 1, "maxItems": 20, "items": run},
        }),
    )
}

/// Holds a file against the schema, and its parts against each other.
pub fn is_sarif(text: &str) {
    let file: Value = serde_json::from_str(text).expect("JSON");
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(&file)
        .take(5)
        .map(|error| {
            format!("{}: {error}", error.instance_path())
                .chars()
                .take(400)
                .collect()
        })
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let run = &file["runs"][0];
    let ids: Vec<&Value> = list(&run["tool"]["driver"]["rules"])
        .iter()
        .map(|rule| &rule["id"])
        .collect();
    let unique: BTreeSet<&str> = ids.iter().filter_map(|id| id.as_str()).collect();
    assert_eq!(unique.len(), ids.len());
    let mut prints = BTreeSet::new();
    for result in list(&run["results"]) {
        let place = result["ruleIndex"].as_u64().expect("a place") as usize;
        assert_eq!(ids[place], &result["ruleId"]);
        let print = result["partialFingerprints"]["primaryLocationLineHash"].as_str();
        assert!(
            prints.insert(print.expect("a fingerprint")),
            "a fingerprint of two: {result}"
        );
    }
}

pub fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}
