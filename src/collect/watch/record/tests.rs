//! What a record keeps.

use evidence::Kind;
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

#[test]
fn what_a_run_has_no_room_for_is_a_gap() {
    let mut record = Record {
        memory: MemoryBudget::of(2),
        ..Record::default()
    };
    put(&mut record, "1", "v1");
    put(&mut record, "2", "v2");
    // Told again, it needs no room.
    put(&mut record, "2", "v2");
    assert!(record.memory.gaps::<ClusterProfile>().is_empty());
    put(&mut record, "3", "v3");
    let at = Timestamp::UNIX_EPOCH;
    record.changed(br#"{"metadata": {"name": "b", "uid": "w"}}"#, Origin::Created, at);
    assert_eq!((record.len(), record.alive(), record.new_versions), (1, 1, 2));
    let recorded = record.take();
    assert_eq!(recorded.histories[0].versions.len(), 2);
    let gaps = recorded.gaps.iter().map(|gap| (gap.kind, gap.until));
    let expected = [(Kind::Timeline, Some(at)), (Kind::Inventory, None)];
    assert_eq!(gaps.collect::<Vec<_>>(), expected);
    let reason = &recorded.gaps[0].reason;
    assert!(
        reason.contains("more than the 2 versions of ClusterProfiles"),
        "{reason}"
    );
}
