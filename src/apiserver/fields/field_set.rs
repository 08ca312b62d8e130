//! Sets of fields, as in `managedFields`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// Fields that have no owner.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    let fields = json!({
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {
            ".": {}, "f:name": {}, "f:namespace": {}, "f:creationTimestamp": {}, "f:selfLink": {}, "f:uid": {},
            "f:clusterName": {}, "f:generation": {}, "f:managedFields": {}, "f:resourceVersion": {},
        },
    });
    serde_json::from_value(fields).expect("constant fields")
});

/// A set of fields: a tree whose edges are spelled as in FieldsV1 (`f:name`, `k:{"type":"Joined"}`, `v:1`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FieldSet {
    /// True if the value itself is in the set, not only parts of it.
    pub(crate) member: bool,
    pub(crate) children: BTreeMap<String, FieldSet>,
}

impl<'de> Deserialize<'de> for FieldSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut children = BTreeMap::<String, FieldSet>::deserialize(deserializer)?;
        let member = children.remove(".").is_some();
        for child in children.values_mut() {
            child.member |= child.children.is_empty();
        }
        Ok(Self { member, children })
    }
}

impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nothing = FieldSet::default();
        let itself = (self.member && !self.children.is_empty()).then_some((".", &nothing));
        let children = self.children.iter().map(|(step, below)| (step.as_str(), below));
        serializer.collect_map(itself.into_iter().chain(children))
    }
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(crate) fn add(&mut self, step: &str, below: FieldSet) {
        if !below.is_empty() {
            self.children.insert(step.to_owned(), below);
        }
    }

    /// Removes the fields that have no owner.
    pub(crate) fn strip(&mut self) {
        self.subtract(&UNOWNED);
    }

    /// Removes these fields and all below them.
    pub(crate) fn exclude(&mut self, fields: &[&str]) {
        self.children
            .retain(|step, _| !fields.iter().any(|field| step.strip_prefix("f:") == Some(*field)));
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let (mut both, mut rest) = (self.clone(), self.clone());
        rest.subtract(other);
        both.subtract(&rest);
        both
    }

    pub(crate) fn union(&mut self, other: &FieldSet) {
        self.member |= other.member;
        for (step, below) in &other.children {
            self.children.entry(step.clone()).or_default().union(below);
        }
    }

    pub(crate) fn subtract(&mut self, other: &FieldSet) {
        self.member &= !other.member;
        self.children.retain(|step, below| {
            if let Some(excluded) = other.children.get(step) {
                below.subtract(excluded);
            }
            !below.is_empty()
        });
    }

    /// The paths of the fields in messages, parents before children.
    pub(crate) fn paths(&self) -> Vec<String> {
        let members = self.children.iter().filter(|(_, below)| below.member);
        let mut paths: Vec<String> = members.map(|(step, _)| display_step(step)).collect();
        for (step, below) in &self.children {
            let start = display_step(step);
            paths.extend(below.paths().iter().map(|rest| format!("{start}{rest}")));
        }
        paths
    }
}

/// A step of a path in messages: `.name`, `[type="Joined"]`, `[="v"]`.
pub(crate) fn display_step(step: &str) -> String {
    let (kind, rest) = step.split_once(':').unwrap_or(("f", step));
    match (kind, serde_json::from_str(rest)) {
        ("k", Ok(Value::Object(key))) => {
            let fields = key.iter().map(|(name, value)| format!("{name}={value}"));
            format!("[{}]", fields.collect::<Vec<_>>().join(","))
        }
        ("v", Ok(value)) => format!("[={value}]"),
        ("i", _) => format!("[{rest}]"),
        _ => format!(".{rest}"),
    }
}
