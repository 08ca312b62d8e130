//! What a record keeps.

use serde_json::json;

use super::*;

fn put(record: &mut Record, resource_version: &str, kubernetes: &str) {
    let profile = json!({
        "metadata": {"name": "a", "uid": "u", "resourceVersion": resource_version},
        "status": {"version": {"kubernetes": kubernetes}},
    });
    let at = Timestamp::UNIX_EPOCH;
    record.changed(profile.to_string().as_bytes(), Origin::Created, at);
}

#[test]
fn versions_that_are_told_again_are_kept_once() {
    let mut record = Record::<ClusterProfile>::default();
    for _ in 0..3 {
        for (resource_version, kubernetes) in [("9", "v1"), ("10", "v2"), ("11", "v1")] {
            put(&mut record, resource_version, kubernetes);
        }
    }
    assert_eq!(record.history("u").expect("a history").versions.len(), 3);
    // As after a restored backup: an old number, and something new.
    put(&mut record, "10", "v3");
    assert_eq!(record.history("u").expect("a history").versions.len(), 4);
}
