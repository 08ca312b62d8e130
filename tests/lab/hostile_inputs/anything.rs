//! Any JSON in any place of a profile.

use proptest::prelude::*;
use serde_json::Value;

use super::{list, neighbour, of_neighbour_itself, profile, read, try_read};

/// Texts and keys that mean something.
const TEXTS: &str = "True Joined v1.34.0 https://a.example [\"a:1\"] 2026-01-01T00:00:00Z [{ m";
const KEYS: &str = "name value type status reason cluster server extension items";

fn one_of(words: &'static str) -> impl Strategy<Value = String> {
    let words: Vec<&str> = words.split(' ').collect();
    prop::sample::select(words).prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        one_of(TEXTS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6).prop_map(|parts| parts.into_iter().collect()),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![one_of(KEYS), ".{0,8}"]
}

fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
            map.iter().map(|(key, child)| (escaped(key), child)).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(place, item)| (place.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let place = format!("{at}/{key}");
        places(child, &place, into);
        into.push(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With any value in any place of one profile, nothing panics and the neighbour is judged as if it were alone.
    #[test]
    fn anything_anywhere(at in any::<prop::sample::Index>(), value in any_json(), second in prop::option::of((any::<prop::sample::Index>(), any_json()))) {
        let mut all_places = Vec::new();
        let mut odd = profile("odd");
        for (at, value) in [(at, value)].into_iter().chain(second) {
            all_places.clear();
            places(&odd, "", &mut all_places);
            if let Some(place) = all_places.get(at.index(all_places.len().max(1))) {
                *odd.pointer_mut(place).expect("the place") = value;
            }
        }
        let good = neighbour();
        let alone = read(good.to_string().as_bytes());
        for dump in [list(&[&odd, &good]), format!("{good}\n---\n{odd}\n")] {
            let evidence = read(dump.as_bytes());
            prop_assert_eq!(of_neighbour_itself(&evidence), of_neighbour_itself(&alone), "{}", dump);
            // It is judged, or reported, or of no kind that is judged.
            let judged = evidence.everyone().count() - 1;
            let is_profile = odd["kind"] == "ClusterProfile" && odd["apiVersion"].as_str().is_some_and(|version| version.starts_with("multicluster.x-k8s.io/"));
            prop_assert!(!is_profile || judged + evidence.unreadable.len() == 1, "{}", dump);
        }
    }

    /// A dump with a malformed object is refused, or the neighbour is judged as if it were alone, or reported as lost.
    #[test]
    fn anything_between_letters(
        at in any::<prop::sample::Index>(),
        gone in 0_usize..6,
        put in prop::sample::select(vec![
            "", "\n", "\n---\n", "\n...\n", "- ", "\n- ", "[", "]", "{", "}", "\"", "'", "&a ", "*a", ": ", ":\n", "#", "|\n",
            "\t", "\u{FEFF}", "<<: ", "? ", "!!x ", "%", "\nitems:\n", "\nkind: Pod\n", ",", "\\", "\0",
        ]),
        form in 0..3,
        is_first in any::<bool>(),
    ) {
        let write = |object: &Value| if form == 0 {
            serde_saphyr::to_string(object).expect("YAML")
        } else {
            object.to_string()
        };
        let (good, mut odd) = (write(&neighbour()), write(&profile("odd")));
        let start = at.index(odd.len());
        odd.replace_range(start..(start + gone).min(odd.len()), put);
        let both = if is_first { [odd, good.clone()] } else { [good.clone(), odd] };
        let dump = if form == 2 { format!("[{}]", both.join(",")) } else { both.join("\n---\n") };
        let Ok(evidence) = try_read(dump.as_bytes()) else { return Ok(()) };
        let is_there = evidence.everyone().any(|profile| &*profile.metadata.name == "good");
        prop_assert!(is_there || !evidence.unreadable.is_empty(), "{}", dump);
        if is_there {
            let alone = read(good.as_bytes());
            prop_assert_eq!(of_neighbour_itself(&evidence), of_neighbour_itself(&alone), "{}", dump);
        }
    }
}
