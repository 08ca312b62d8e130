//! The JSON Schemas: they are published, valid files fit them, and invalid files do not.

use std::fmt::Write as _;

use jsonschema::Validator;

use super::{docs::assert_published, *};

fn names() -> Vec<String> {
    let printed = call("schema nonsense").err;
    let (_, list) = printed.split_once("[possible values: ").expect("clap lists them");
    let (list, _) = list.split_once(']').expect("its end");
    list.split(", ").map(str::to_owned).collect()
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&expect(0, format!("schema {name}"))).expect("JSON")
}

fn validator(name: &str) -> Validator {
    let schema = schema(name);
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    jsonschema::validator_for(&schema).expect("a schema")
}

fn yaml(text: &str) -> Value {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).expect("YAML")
}

#[track_caller]
fn assert_valid(validator: &Validator, value: &Value) {
    let errors = validator.iter_errors(value);
    let errors = errors.map(|error| format!("{}: {error}", error.instance_path()));
    let errors: Vec<String> = errors.collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
}

#[test]
fn all_are_published() {
    let folder = Path::new(ROOT).join("docs/schemas");
    let mut files = Vec::new();
    for name in names() {
        let version = if name == "evidence" { "v3" } else { "v1" };
        let file = format!("{name}.{version}.schema.json");
        assert_published(&folder.join(&file), &expect(0, format!("schema {name}")));
        validator(&name);
        let schema = schema(&name);
        let id = format!("urn:clusterprofile-conformance:schema:{name}:{version}");
        assert_eq!(schema["$id"], id);
        assert!(schema["title"].is_string() && schema["description"].is_string());
        files.push(file);
    }
    for entry in fs::read_dir(folder).expect("it is there") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(files.contains(&name), "`schema` does not print {name}");
    }
}

#[test]
fn all_keys_are_published() {
    let schema = schema("configuration");
    let mut table = "| key | holds | |\n|---|---|---|\n".to_owned();
    for (name, property) in schema["properties"].as_object().expect("properties") {
        let Some(description) = property["description"].as_str() else {
            continue;
        };
        let names = property["enum"].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        let names = names.join(", ");
        let holds = match property["type"].as_str() {
            _ if !names.is_empty() => &names,
            Some("boolean") => "true or false",
            Some("integer") => "a number",
            Some(_) => "text",
            None => "texts",
        };
        let description = description.replace('|', "\\|");
        writeln!(table, "| `{name}` | {holds} | {description} |").expect("a text takes all");
    }
    let path = Path::new(ROOT).join("docs/configuration.md");
    let published = fs::read_to_string(&path).expect("it is there");
    let (head, rest) = published
        .split_once("<!-- keys -->\n")
        .expect("the table's place");
    let (_, tail) = rest.split_once("<!-- end of keys -->").expect("the table's end");
    let expected = format!("{head}<!-- keys -->\n{table}<!-- end of keys -->{tail}");
    assert_published(&path, &expected);
}

#[test]
fn reports_and_evidence_are_valid() {
    let folder = Folder::new();
    let (json, record) = (folder.flag("report.json"), folder.flag("evidence.jsonl"));
    let (report, line) = (validator("json-report"), validator("evidence"));
    let config = format!("{ROOT}/fixtures/configuration/conformance.yaml");
    let lab = "run --hub lab --manager reference=identity/manager-label-matches --driver reference";
    for run in [
        &format!("{lab} --config {config} --allow-mutations"),
        "run --from violating.yaml --strict --namespace fleet",
        "run --from conforming.yaml --clusterset fleet=production --consumer x",
        "run --kubeconfig unreachable.kubeconfig",
    ] {
        call(format!("{run} --json {json} --record {record}"));
        assert_valid(&report, &folder.json("report.json"));
        for record in folder.text("evidence.jsonl").lines() {
            assert_valid(&line, &serde_json::from_str(record).expect("JSON"));
        }
    }
    for (pointer, wrong) in [("/tally/must/failed", "none"), ("/decision", "perhaps")] {
        let mut report_with_error = folder.json("report.json");
        *report_with_error.pointer_mut(pointer).expect("a part") = wrong.into();
        assert!(!report.is_valid(&report_with_error), "{pointer}");
    }
    for wrong in [
        r#"{"deleted": {"at": 5}}"#,
        r#"{"nothing": {}}"#,
        r#"{"end": {}, "deleted": {"at": "2026-01-01T00:00:00Z"}}"#,
    ] {
        assert!(!line.is_valid(&yaml(wrong)), "{wrong}");
    }
}

const VALID: &str = "
configuration | namespace: a | skip: [b] | strict: false | nodeTolerance: 3 | hub: lab | clusterManagerAgent: manager
configuration | expectProfiles: 3
driver | hooks: {restart: [x]} | patience: 2m
driver | hooks: {join: [x], leave: [y]} | timeout: 3m | env: {A: b} | members: [{name: a, profile: b/c}]
driver | hooks: {restart: [x]} | patienceFor: {restart: 3m}
members | fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}
";
const INVALID: &str = "
configuration | obsrve: 5m
configuration | clean: true
configuration | strict: 'yes'
configuration | hub: labb
configuration | expectProfiles: -1
configuration | implementation: {name: x}
waivers | waivers: [{rule: x}]
waivers | waivers: [{rule: x, reason: y, link: z, expires: 2026-01-01, until: never}]
waivers | waivers: {}
driver | hooks: {dance: [x]}
driver | hooks: {restart: reboot now}
driver | hooks: {restart: []}
driver | hooks: {restart: {command: [x]}}
driver | patienceFor: {dance: 2m}
driver | members: [{name: a, profile: b}]
members | fleet/lisbon: {context: lisbon}
members | a/b: {kubeconfig: x, token: y}
";

#[test]
fn valid_and_invalid_files_are_distinguished() {
    let file = |row: &[&str]| {
        let head = if row[0] == "configuration" { HEAD } else { "" };
        yaml(&(head.to_owned() + &row[1..].join("\n")))
    };
    for row in table(VALID) {
        assert_valid(&validator(row[0]), &file(&row));
    }
    for row in table(INVALID) {
        assert!(!validator(row[0]).is_valid(&file(&row)), "{row:?}");
    }
    assert!(!validator("configuration").is_valid(&yaml("kind: Configuration")));
    for (name, path) in [
        ("configuration", "fixtures/configuration/conformance.yaml"),
        ("waivers", "fixtures/configuration/waivers.yaml"),
        ("driver", "fixtures/drivers/template.yaml"),
    ] {
        let text = fs::read_to_string(Path::new(ROOT).join(path)).expect(path);
        assert_valid(&validator(name), &yaml(&text));
    }
}
