//! Walks through a value along its schema.

use serde_json::{Map, Value};

use super::structural::{Extra, ListType, Schema};
use crate::object::field::Path;

/// A value within an object, with the value it replaces, its schema and its path.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    pub(crate) schema: &'a Schema,
    pub(crate) path: Path<'a>,
    /// The nearest value, this one or one around it, that replaces an old value, and the old one.
    pub(super) replacement: Option<(&'a Value, &'a Value)>,
}

impl<'a> At<'a> {
    fn new(value: &'a Value, old: Option<&'a Value>, schema: &'a Schema, path: Path<'a>) -> Self {
        Self {
            value,
            old,
            schema,
            path,
            replacement: old.map(|old| (value, old)),
        }
    }

    /// A value below this one.
    fn below<'b>(
        &'b self,
        value: &'b Value,
        old: Option<&'b Value>,
        schema: &'b Schema,
        path: Path<'b>,
    ) -> At<'b> {
        let below = At::new(value, old, schema, path);
        At {
            replacement: below.replacement.or(self.replacement),
            ..below
        }
    }

    /// True if the value was there before. An item of a list without keys was, if the whole list is unchanged.
    pub(super) fn is_unchanged(&self) -> bool {
        self.replacement.is_some_and(|(value, old)| value == old)
    }

    /// A whole object.
    pub(crate) fn root(value: &'a Value, old: Option<&'a Value>, schema: &'a Schema) -> Self {
        Self::new(value, old, schema, Path::ROOT)
    }

    /// Visits the children that the schema describes.
    pub(super) fn visit_below(&self, visit: &mut dyn FnMut(&At<'_>)) {
        match (self.value, &self.schema.items) {
            (Value::Object(fields), _) => {
                for (name, value) in fields {
                    let old = self.old.and_then(|old| old.get(name));
                    if let Some(known) = self.schema.properties.get(name) {
                        visit(&self.below(value, old, known, self.path.child(name)));
                    } else if let Extra::Schema(extra) = &self.schema.extra {
                        visit(&self.below(value, old, extra, self.path.key(name)));
                    }
                }
            }
            (Value::Array(items), Some(schema)) => {
                for (i, value) in items.iter().enumerate() {
                    let old = self.replaced_by(value);
                    visit(&self.below(value, old, schema, self.path.index(i)));
                }
            }
            _ => {}
        }
    }

    /// Visits this value and its descendants, as far as their schemas are `wanted`.
    pub(crate) fn each(&self, wanted: fn(&Schema) -> bool, visit: &mut dyn FnMut(&At<'_>)) {
        if wanted(self.schema) {
            visit(self);
            self.visit_below(&mut |below| below.each(wanted, visit));
        }
    }

    /// The old item that `item` replaces, in lists of type map.
    fn replaced_by(&self, item: &Value) -> Option<&'a Value> {
        if self.schema.list_type != ListType::Map {
            return None;
        }
        let key = list_key(item, self.schema);
        let mut old = self.old?.as_array()?.iter();
        old.find(|candidate| list_key(candidate, self.schema) == key)
    }
}

/// The key fields of a list item, with their defaults. Missing ones are left out.
pub(crate) fn list_key(item: &Value, schema: &Schema) -> Map<String, Value> {
    let keys = schema.list_map_keys.iter();
    let default = |key: &str| schema.items.as_ref()?.properties.get(key)?.default.as_ref();
    keys.filter_map(|key| Some((key.clone(), item.get(key).or_else(|| default(key))?.clone())))
        .collect()
}
