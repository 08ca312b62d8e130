//! Builds structural schemas: each function makes one, each method narrows it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, ValidationRule,
};

/// A schema under construction.
#[derive(Clone)]
pub(super) struct Schema(JSONSchemaProps);

fn of_type(name: &str) -> Schema {
    Schema(JSONSchemaProps {
        type_: Some(name.to_owned()),
        ..Default::default()
    })
}

/// Any string.
pub(super) fn string() -> Schema {
    of_type("string")
}

/// True or false.
pub(super) fn boolean() -> Schema {
    of_type("boolean")
}

/// A whole number that fits 64 bits.
pub(super) fn int64() -> Schema {
    of_type("integer").format("int64")
}

/// An RFC 3339 timestamp.
pub(super) fn timestamp() -> Schema {
    string().format("date-time")
}

/// Bytes, written in base64.
pub(super) fn bytes() -> Schema {
    string().format("byte")
}

/// An object with these fields; unknown ones are pruned.
pub(super) fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    of_type("object").with(fields)
}

/// An object whose fields are neither checked nor pruned.
pub(super) fn any_object() -> Schema {
    let mut schema = of_type("object");
    schema.0.x_kubernetes_preserve_unknown_fields = Some(true);
    schema
}

/// A list of such items.
pub(super) fn list(item: Schema) -> Schema {
    let mut schema = of_type("array");
    schema.0.items = Some(JSONSchemaPropsOrArray::Schema(Box::new(item.build())));
    schema
}

/// A list of objects with unique values of the field `key`.
pub(super) fn map_list(key: &str, item: Schema) -> Schema {
    let mut schema = list(item);
    schema.0.x_kubernetes_list_type = Some("map".to_owned());
    schema.0.x_kubernetes_list_map_keys = Some(vec![key.to_owned()]);
    schema
}

impl Schema {
    /// Further fields of an object.
    pub(super) fn with<const N: usize>(mut self, fields: [(&str, Schema); N]) -> Self {
        if N > 0 {
            let fields = fields
                .into_iter()
                .map(|(name, field)| (name.to_owned(), field.build()));
            self.0.properties.get_or_insert_default().extend(fields);
        }
        self
    }

    /// Describes the field, in a line.
    pub(super) fn about(mut self, description: &str) -> Self {
        self.0.description = Some(description.to_owned());
        self
    }

    /// At least this many characters.
    pub(super) fn min(mut self, characters: i64) -> Self {
        self.0.min_length = Some(characters);
        self
    }

    /// At most this many characters.
    pub(super) fn max(mut self, characters: i64) -> Self {
        self.0.max_length = Some(characters);
        self
    }

    /// At least this many items.
    pub(super) fn min_items(mut self, items: i64) -> Self {
        self.0.min_items = Some(items);
        self
    }

    /// At most this many items.
    pub(super) fn max_items(mut self, items: i64) -> Self {
        self.0.max_items = Some(items);
        self
    }

    /// No smaller number.
    pub(super) fn at_least(mut self, number: f64) -> Self {
        self.0.minimum = Some(number);
        self
    }

    /// A regular expression that the string has to match.
    pub(super) fn pattern(mut self, regex: &str) -> Self {
        self.0.pattern = Some(regex.to_owned());
        self
    }

    /// One of these strings.
    pub(super) fn one_of(mut self, values: &[&str]) -> Self {
        self.0.enum_ = Some(values.iter().map(|value| JSON((*value).into())).collect());
        self
    }

    /// Fields that may not be missing.
    pub(super) fn required(mut self, fields: &[&str]) -> Self {
        self.0.required = Some(fields.iter().map(|field| (*field).to_owned()).collect());
        self
    }

    /// A CEL rule, and the API server's message when it fails.
    pub(super) fn rule(mut self, cel: &str, message: &str) -> Self {
        self.0
            .x_kubernetes_validations
            .get_or_insert_default()
            .push(ValidationRule {
                rule: cel.to_owned(),
                message: Some(message.to_owned()),
                ..Default::default()
            });
        self
    }

    fn format(mut self, name: &str) -> Self {
        self.0.format = Some(name.to_owned());
        self
    }

    /// The finished schema.
    pub(super) fn build(self) -> JSONSchemaProps {
        self.0
    }
}
