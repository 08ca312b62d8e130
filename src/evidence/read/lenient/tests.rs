use serde_json::json;

use super::*;
use crate::api::ClusterProfile;

fn refused(object: Value) -> Unreadable {
    let of_value = ClusterProfile::read(Untyped::Value(&object)).expect_err("it does not fit");
    let text = object.to_string();
    let of_text = ClusterProfile::read(Untyped::Text(text.as_bytes())).expect_err("nor does its text");
    assert_eq!(of_value, of_text);
    *of_value
}

#[test]
fn names_the_part_and_quotes_nothing() {
    let object = |status: Value| json!({"metadata": {"namespace": "n", "name": "a"}, "status": status});

    let conditions = refused(object(json!({"conditions": {"Joined": "canary"}})));
    assert_eq!(conditions.object.to_string(), "ClusterProfile n/a");
    assert_eq!(
        conditions.message,
        "status.conditions: invalid type: map, expected a sequence"
    );

    let properties = refused(object(json!({"properties": "canary, expected \"canary"})));
    assert_eq!(
        properties.message,
        "status.properties: invalid type: string, expected a sequence"
    );

    let whole = refused(object(json!("canary")));
    assert!(
        whole
            .message
            .starts_with("status: invalid type: string, expected "),
        "{}",
        whole.message
    );

    let number = refused(json!({"metadata": {"name": 7}}));
    assert_eq!(
        number.message,
        "metadata.name: invalid type: integer, expected a string: quote it"
    );
    assert_eq!(number.object.name, "");

    let fine = object(Value::Null);
    ClusterProfile::read(Untyped::Value(&fine)).expect("null is as good as absent");
}

#[test]
fn goes_down_to_the_smallest_part_whose_name_is_known() {
    let named = |mut object: Value| {
        object["metadata"]["name"] = json!("a");
        refused(object).message
    };
    let properties = json!([{"name": "p", "value": "v"}, {"name": "q", "value": {"canary": 1}}]);
    assert_eq!(
        named(json!({"metadata": {}, "status": {"properties": properties}})),
        "status.properties[1].value: invalid type: map, expected a string"
    );
    assert_eq!(
        named(json!({"status": {"conditions": [{"type": "Joined", "status": true}]}})),
        "status.conditions[0].status: invalid type: boolean, expected a string: quote it"
    );
    assert_eq!(
        named(json!({"status": {"version": {"kubernetes": 1.31}}})),
        "status.version.kubernetes: invalid type: floating point, expected a string: quote it"
    );
    assert_eq!(
        named(json!({"metadata": {"labels": {"canary": [1]}}})),
        "metadata.labels: invalid type: sequence, expected a string"
    );
    assert_eq!(
        named(
            json!({"metadata": {"managedFields": [{"fieldsV1": {"f:metadata": {"f:canary": 1}, "f:spec": 7}}]}})
        ),
        "metadata.managedFields[0].fieldsV1: invalid type: integer, expected a map"
    );
}

#[test]
fn an_object_without_a_name_is_none() {
    for nameless in [
        json!({}),
        json!({"metadata": null}),
        json!({"metadata": {"name": ""}}),
        json!({"metadata": {"name": null}}),
    ] {
        assert_eq!(refused(nameless.clone()).message, NAMELESS);
        assert_eq!(
            namespace(Untyped::Value(&nameless))
                .expect_err("nameless")
                .message,
            NAMELESS
        );
    }
}

#[test]
fn makes_out_who_it_is_whatever_is_wrong() {
    let who = |json: &[u8]| {
        let unreadable = ClusterProfile::read(Untyped::Text(json)).expect_err("it cannot be read");
        (
            unreadable.object.to_string(),
            unreadable.object.uid,
            unreadable.message,
        )
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let extension =
        format!(r#"{{"accessProviders": [{{"cluster": {{"extensions": [{{"extension": {deep}}}]}}}}]}}"#);
    let text = |status: &str| {
        format!(r#"{{"metadata": {{"name": "a", "namespace": "n", "uid": "u"}}, "status": {status}}}"#)
    };
    for (status, message) in [
        (extension.as_str(), "it nests too deep"),
        (
            r#"{"conditions": [{"observedGeneration": 1e999}]}"#,
            "a number in it is out of range",
        ),
        (
            r#"{"version": {"kubernetes": "\ud800"}}"#,
            "a text in it is not Unicode",
        ),
        (r#"{}, "status": {}"#, "a key is repeated"),
    ] {
        assert_eq!(
            who(text(status).as_bytes()),
            (
                "ClusterProfile n/a".to_owned(),
                "u".to_owned(),
                message.to_owned()
            )
        );
    }
    // Unread parts may be anything.
    let fine = text(&format!(r#"{{"x": {deep}, "y": 1e999}}"#));
    ClusterProfile::read(Untyped::Text(fine.as_bytes())).expect("fits");

    let spoilt = b"{\"metadata\": {\"name\": \"a\", \"namespace\": \"n\xFF\xFE\", \"uid\": \"u\"}}";
    assert_eq!(
        who(spoilt),
        (
            "ClusterProfile a".to_owned(),
            "u".to_owned(),
            "it is not UTF-8 text".to_owned()
        )
    );
    assert_eq!(
        who(b"{\"metadata\""),
        (
            "ClusterProfile ".to_owned(),
            String::new(),
            "it is not JSON".to_owned()
        )
    );
}

#[test]
fn masked_bytes_keep_all_others_in_their_places() {
    assert!(matches!(masked("é".as_bytes()), Cow::Borrowed("é")));
    assert_eq!(masked(b"a\xE9b\xF0\x9F\x98c"), "a?b???c");
}
