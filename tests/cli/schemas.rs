//! The JSON Schemas: they stand in the documents, hold for what is written, and refuse what is wrong.

use std::fmt::Write as _;

use jsonschema::Validator;

use super::{docs::assert_published, *};

/// The names that `schema` knows.
fn names() -> Vec<String> {
    let printed = call("schema nonsense").err;
    let list = printed
        .split_once("[possible values: ")
        .and_then(|(_, rest)| rest.split_once(']'))
        .expect("clap names them");
    list.0.split(", ").map(str::to_owned).collect()
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
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
}

#[test]
fn all_are_published() {
    let mut files = Vec::new();
    for name in names() {
        let version = if name == "evidence" { "v3" } else { "v1" };
        let file = format!("{name}.{version}.schema.json");
        assert_published(
            &Path::new(ROOT).join("docs/schemas").join(&file),
            &expect(0, format!("schema {name}")),
        );
        validator(&name);
        let schema = schema(&name);
        let id = format!("urn:clusterprofile-conformance:schema:{name}:{version}");
        assert_eq!(schema["$id"], id);
        assert!(schema["title"].is_string() && schema["description"].is_string());
        files.push(file);
    }
    for entry in fs::read_dir(Path::new(ROOT).join("docs/schemas")).expect("it is there") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(files.contains(&name), "`schema` does not print {name}");
    }
}

#[test]
fn all_keys_are_published() {
    let schema = schema("configuration");
    let properties = schema["properties"].as_object().expect("properties");
    let mut table = "| key | holds | |\n|---|---|---|\n".to_owned();
    for (name, property) in properties {
        let Some(description) = property["description"].as_str() else {
            continue;
        };
        let holds = match (&property["type"], &property["enum"]) {
            (_, Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                names.join(", ")
            }
            (Value::String(kind), _) if kind == "boolean" => "true or false".to_owned(),
            (Value::String(kind), _) if kind == "integer" => "a number".to_owned(),
            (Value::String(_), _) => "text".to_owned(),
            _ => "texts".to_owned(),
        };
        writeln!(
            table,
            "| `{name}` | {holds} | {} |",
            description.replace('|', "\\|")
        )
        .expect("a text takes all");
    }
    let path = Path::new(ROOT).join("docs/configuration.md");
    let found = fs::read_to_string(&path).expect("it is there");
    let (head, rest) = found.split_once("<!-- keys -->\n").expect("the table's place");
    let (_, tail) = rest.split_once("<!-- end of keys -->").expect("the table's end");
    let wanted = format!("{head}<!-- keys -->\n{table}<!-- end of keys -->{tail}");
    assert_published(&path, &wanted);
}

#[test]
fn they_hold_for_what_is_written() {
    let folder = Folder::new();
    let (json, record) = (folder.flag("report.json"), folder.flag("evidence.jsonl"));
    let outputs = format!("--json {json} --record {record}");
    let (report, line) = (validator("json-report"), validator("evidence"));
    let config = format!("{ROOT}/fixtures/configuration/conformance.yaml");
    for run in [
        &format!(
            "run --hub lab --config {config} --manager reference=identity/manager-label-matches --driver reference --allow-mutations"
        ),
        "run --from violating.yaml --strict --namespace fleet",
        "run --from conforming.yaml --clusterset fleet=production --consumer x",
    ] {
        call(format!("{run} {outputs}"));
        assert_valid(&report, &folder.json("report.json"));
        for record in folder.text("evidence.jsonl").lines() {
            assert_valid(&line, &serde_json::from_str(record).expect("JSON"));
        }
    }
    // Of a run that could not be, too.
    call(format!("run --kubeconfig {} --json {json}", folder.kubeconfig(1)));
    assert_valid(&report, &folder.json("report.json"));

    let mut wrong = folder.json("report.json");
    wrong["tally"]["must"]["failed"] = "none".into();
    assert!(!report.is_valid(&wrong));
    let mut wrong = folder.json("report.json");
    wrong["decision"] = "perhaps".into();
    assert!(!report.is_valid(&wrong));
    for wrong in [
        r#"{"deleted": {"at": 5}}"#,
        r#"{"nothing": {}}"#,
        r#"{"end": {}, "deleted": {"at": "2026-01-01T00:00:00Z"}}"#,
    ] {
        assert!(!line.is_valid(&yaml(wrong)), "{wrong}");
    }
}

#[test]
fn they_tell_what_is_right_from_what_is_wrong() {
    let head = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\n";
    let read = |path: &str| yaml(&fs::read_to_string(Path::new(ROOT).join(path)).expect("it is there"));
    let example = read("fixtures/configuration/conformance.yaml");
    let waivers = read("fixtures/configuration/waivers.yaml");
    for (name, right, wrong) in [
        (
            "configuration",
            vec![
                example,
                yaml(&format!(
                    "{head}namespace: a\nskip: [b]\nstrict: false\nnodeTolerance: 3\nhub: lab\n\
                     clusterManagerAgent: manager\nexpectProfiles: 3"
                )),
            ],
            vec![
                "kind: Configuration".to_owned(),
                format!("{head}obsrve: 5m"),
                format!("{head}clean: true"),
                format!("{head}strict: 'yes'"),
                format!("{head}hub: labb"),
                format!("{head}expectProfiles: -1"),
                format!("{head}implementation: {{name: x}}"),
            ],
        ),
        (
            "waivers",
            vec![waivers],
            vec![
                "waivers: [{rule: x}]".to_owned(),
                "waivers: [{rule: x, reason: y, link: z, expires: 2026-01-01, until: never}]".to_owned(),
                "waivers: {}".to_owned(),
            ],
        ),
        (
            "driver",
            vec![
                read("fixtures/drivers/template.yaml"),
                yaml("hooks: {restart: [x]}\npatience: 2m"),
                yaml(
                    "hooks: {join: [x], leave: {command: [y], timeout: 3m, env: {A: b}}}\nmembers: [{name: a, profile: b/c}]",
                ),
            ],
            vec![
                "hooks: {dance: [x]}".to_owned(),
                "hooks: {restart: reboot now}".to_owned(),
                "hooks: {restart: []}".to_owned(),
                "patience: {dance: 2m}".to_owned(),
                "members: [{name: a, profile: b}]".to_owned(),
            ],
        ),
        (
            "members",
            vec![yaml(
                "fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}",
            )],
            vec![
                "fleet/lisbon: {context: lisbon}".to_owned(),
                "a/b: {kubeconfig: x, token: y}".to_owned(),
            ],
        ),
    ] {
        let validator = validator(name);
        for right in &right {
            assert_valid(&validator, right);
        }
        for wrong in &wrong {
            assert!(!validator.is_valid(&yaml(wrong)), "{name}: {wrong}");
        }
    }
}
