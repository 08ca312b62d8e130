use super::*;
use crate::api::ClusterProfile;

/// Objects, each with the part that does not fit and the reason.
const MISFITS: &str = r#"
{"metadata": {"name": "a"}, "status": {"conditions": {"Joined": "canary"}}} => status.conditions: invalid type: map, expected a sequence
{"metadata": {"name": "a"}, "status": {"properties": "canary, expected \"canary"}} => status.properties: invalid type: string, expected a sequence
{"metadata": {"name": "a"}, "status": "canary"} => status: invalid type: string, expected an object
{"metadata": {"name": 7}} => metadata.name: invalid type: integer, expected a string: quote it
{"metadata": {"name": "a"}, "status": {"properties": [{"value": "v"}, {"value": {"canary": 1}}]}} => status.properties[1].value: invalid type: map, expected a string
{"metadata": {"name": "a"}, "status": {"conditions": [{"status": true}]}} => status.conditions[0].status: invalid type: boolean, expected a string: quote it
{"metadata": {"name": "a"}, "status": {"version": {"kubernetes": 1.31}}} => status.version.kubernetes: invalid type: floating point, expected a string: quote it
{"metadata": {"name": "a", "labels": {"canary": [1]}}} => metadata.labels: invalid type: sequence, expected a string
{"metadata": {"name": "a", "managedFields": [{"fieldsV1": {"f:metadata": {"f:canary": 1}}}]}} => metadata.managedFields[0].fieldsV1: invalid type: integer, expected a map
{"metadata": {"name": "a", "managedFields": [{"fieldsV1": {"f:spec": 7}}]}} => metadata.managedFields[0].fieldsV1: invalid type: integer, expected a map
{} => metadata.name is missing
{"metadata": null} => metadata.name is missing
{"metadata": {"name": ""}} => metadata.name is missing
{"metadata": {"name": null}} => metadata.name is missing"#;

#[test]
fn error_names_the_smallest_part_and_quotes_nothing() {
    for (object, message) in MISFITS.lines().filter_map(|line| line.split_once(" => ")) {
        let refused = ClusterProfile::read(object.as_bytes()).expect_err("it does not fit");
        assert_eq!(refused.message, message, "{object}");
        if message == NAMELESS {
            let nameless = namespace(object.as_bytes()).expect_err("nameless");
            assert_eq!(nameless.message, NAMELESS);
        } else {
            let value: Value = serde_json::from_str(object).expect("JSON");
            assert_eq!(read_value::<ClusterProfile>(&value), Err(refused.message));
        }
    }
    ClusterProfile::read(br#"{"metadata": {"name": "a"}, "status": null}"#).expect("null counts as absent");
}

#[test]
fn unreadable_object_is_identified() {
    let identity = |json: &[u8]| {
        let unreadable = ClusterProfile::read(json).expect_err("it cannot be read");
        let Unreadable { object, message } = *unreadable;
        format!("{object} ({}): {message}", object.uid)
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let extension =
        format!(r#"{{"accessProviders": [{{"cluster": {{"extensions": [{{"extension": {deep}}}]}}}}]}}"#);
    let text = |status: &str| {
        format!(r#"{{"metadata": {{"name": "a", "namespace": "n", "uid": "u"}}, "status": {status}}}"#)
    };
    let rows = r#" => it nests too deep
{"conditions": [{"observedGeneration": 1e999}]} => a number in it is out of range
{"version": {"kubernetes": "\ud800"}} => a text in it is not Unicode
{}, "status": {} => a key is repeated"#;
    let rows = format!("{extension}{rows}");
    for (status, message) in rows.lines().filter_map(|row| row.split_once(" => ")) {
        let expected = format!("ClusterProfile n/a (u): {message}");
        assert_eq!(identity(text(status).as_bytes()), expected);
    }
    // Unread parts may be anything.
    let fine = text(&format!(r#"{{"x": {deep}, "y": 1e999}}"#));
    ClusterProfile::read(fine.as_bytes()).expect("fits");

    let spoilt = b"{\"metadata\": {\"name\": \"a\", \"namespace\": \"n\xFF\xFE\", \"uid\": \"u\"}}";
    assert_eq!(identity(spoilt), "ClusterProfile a (u): it is not UTF-8 text");
    assert_eq!(identity(b"{\"metadata\""), "ClusterProfile  (): it is not JSON");
}

#[test]
fn masked_bytes_move_no_other_byte() {
    assert!(matches!(masked("é".as_bytes()), Cow::Borrowed("é")));
    assert_eq!(masked(b"a\xE9b\xF0\x9F\x98c"), "a?b???c");
}
