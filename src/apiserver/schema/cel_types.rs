//! CEL types, as far as checking rules needs them, and bounds on the size of values.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::Value;

use super::{
    cel_rule::escaped,
    formats::Format,
    structural::{Extra, Schema, Type as JsonType},
};

/// The largest request that kube-apiserver accepts, in bytes.
pub(super) const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;

/// A type, with bounds on the size of its values.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) form: Form,
    /// The maximum number of characters, items or entries, where a schema or the expression says so.
    pub(super) most: Option<u64>,
    /// The size of the shortest value as JSON.
    pub(super) least_bytes: u64,
}

/// What a type is.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Any type, known only at run time.
    Dyn,
    /// A type without parts, by its CEL name.
    Plain(&'static str),
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    /// An object with the fields of a schema, by their escaped names.
    Object(Arc<BTreeMap<String, Type>>),
    /// A type parameter of a signature.
    Open(char),
}

impl From<Form> for Type {
    fn from(form: Form) -> Self {
        Self {
            form,
            most: None,
            least_bytes: 2,
        }
    }
}

impl Type {
    pub(super) fn plain(name: &'static str) -> Self {
        Form::Plain(name).into()
    }

    /// The type of a schema's values, or `None` if rules cannot see them. A resource has a name and a kind, too.
    pub(super) fn of_schema(schema: &Schema, is_resource: bool) -> Option<Self> {
        let below = |schema: &Schema| Self::of_schema(schema, schema.embedded_resource);
        let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or_default());
        // `maxLength` counts characters, which have up to four bytes each.
        let text = |longest: u64| bound(schema.max_length).map_or(longest, |most| most * 4);
        let longest = LARGEST_REQUEST - 2;
        let (form, most, least_bytes) = match schema.types.as_slice() {
            // An integer or a string.
            [_, _] => (Form::Dyn, text(longest), 1),
            [JsonType::Boolean] => (Form::Plain("bool"), 0, 4),
            [JsonType::Number] => (Form::Plain("double"), 0, 1),
            [JsonType::Integer] => (Form::Plain("int"), 0, 1),
            [JsonType::String] => match schema.format {
                Some(Format::BYTE) => (
                    Form::Plain("bytes"),
                    bound(schema.max_length).unwrap_or(longest),
                    2,
                ),
                Some(Format::DURATION) => (Form::Plain("duration"), 32, 3),
                Some(Format::DATE) => (Form::Plain("timestamp"), 12, 12),
                Some(Format::DATE_TIME) => (Form::Plain("timestamp"), 32, 21),
                _ => {
                    let allowed = schema.allowed.iter().flatten().filter_map(Value::as_str);
                    let allowed = allowed.map(|text| text.len() as u64).max();
                    (Form::Plain("string"), text(allowed.unwrap_or(longest)), 2)
                }
            },
            [JsonType::Array] => {
                let item = below(schema.items.as_ref()?)?;
                let most = bound(schema.max_items).unwrap_or(longest / (item.least_bytes + 1));
                (Form::List(Arc::new(item)), most, 2)
            }
            [JsonType::Object] => match &schema.extra {
                Extra::Schema(value) => {
                    let value = below(value)?;
                    let most = bound(schema.max_properties).unwrap_or(longest / (value.least_bytes + 6));
                    let key = Type {
                        most: Some(0),
                        ..Type::plain("string")
                    };
                    (Form::Map(Arc::new(key), Arc::new(value)), most, 2)
                }
                Extra::Unknown | Extra::Any => {
                    let (fields, least_bytes) = fields_of(schema, is_resource);
                    (Form::Object(Arc::new(fields)), 0, least_bytes)
                }
            },
            _ => return None,
        };
        Some(Self {
            form,
            most: Some(most),
            least_bytes,
        })
    }

    /// Upper bound on a value's size: characters, items or entries. 1 for scalars.
    pub(super) fn size(&self) -> u64 {
        const SCALARS: [&str; 6] = ["bool", "double", "duration", "int", "timestamp", "uint"];
        let scalar = matches!(self.form, Form::Plain(name) if SCALARS.contains(&name));
        self.most.unwrap_or(if scalar { 1 } else { u64::MAX })
    }

    /// The type of a list's items.
    pub(super) fn item(&self) -> Option<&Type> {
        match &self.form {
            Form::List(item) => Some(item),
            _ => None,
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self.form, Form::Plain(own) if own == name)
    }

    /// True if it is one of `names`, or may be at run time.
    pub(super) fn may_be(&self, names: &[&str]) -> bool {
        matches!(self.form, Form::Dyn) || names.iter().any(|name| self.is(name))
    }

    /// True if a value of the type `given` fits this type. Binds open type parameters.
    pub(super) fn takes(&self, given: &Type, open: &mut BTreeMap<char, Type>) -> bool {
        match (&self.form, &given.form) {
            (Form::Open(letter), _) => match open.get(letter).cloned() {
                None => {
                    open.insert(*letter, given.clone());
                    true
                }
                Some(known) => {
                    let agree = known.takes(given, open) || given.takes(&known, open);
                    if agree && known.is_vague() {
                        open.insert(*letter, given.clone());
                    }
                    agree
                }
            },
            (Form::Dyn, _) | (_, Form::Dyn) => true,
            (Form::Plain("number"), Form::Plain("int" | "uint" | "double")) => true,
            // Scalars cannot be null.
            (Form::Plain(own), Form::Plain("null")) => {
                !["bool", "bytes", "double", "int", "string", "uint", "number"].contains(own)
            }
            (Form::Object(_), Form::Plain("null")) => true,
            (Form::Plain(own), Form::Plain(given)) => own == given,
            (Form::List(own), Form::List(given)) => own.takes(given, open),
            (Form::Map(own_key, own), Form::Map(key, given)) => {
                own_key.takes(key, open) && own.takes(given, open)
            }
            (Form::Object(own), Form::Object(given)) => Arc::ptr_eq(own, given),
            _ => false,
        }
    }

    /// True if more may become known: the items of an empty list have any type.
    fn is_vague(&self) -> bool {
        match &self.form {
            Form::Dyn => true,
            Form::List(item) => item.is_vague(),
            Form::Map(_, value) => value.is_vague(),
            _ => false,
        }
    }

    /// Replaces type parameters by what they are bound to.
    pub(super) fn settled(&self, open: &BTreeMap<char, Type>) -> Type {
        let below = |part: &Type| Arc::new(part.settled(open));
        match &self.form {
            Form::Open(letter) => open.get(letter).cloned().unwrap_or(Form::Dyn.into()),
            Form::List(item) => Form::List(below(item)).into(),
            Form::Map(key, value) => Form::Map(below(key), below(value)).into(),
            _ => self.clone(),
        }
    }
}

/// The fields that rules can name, and the size of the shortest object.
fn fields_of(schema: &Schema, is_resource: bool) -> (BTreeMap<String, Type>, u64) {
    let mut least_bytes = 2;
    let mut fields = BTreeMap::new();
    for (name, property) in &schema.properties {
        let Some(field) = Type::of_schema(property, property.embedded_resource) else {
            continue;
        };
        if schema.required.contains(name) && property.default.is_none() {
            least_bytes += name.len() as u64 + field.least_bytes + 4;
        }
        fields.insert(escaped(name), field);
    }
    if is_resource {
        let text = Type {
            most: Some(LARGEST_REQUEST - 2),
            ..Type::plain("string")
        };
        let names = ["name", "generateName"].map(|name| (name.to_owned(), text.clone()));
        let metadata = Type {
            most: Some(0),
            ..Form::Object(Arc::new(names.into_iter().collect())).into()
        };
        fields.insert("metadata".to_owned(), metadata);
        for name in ["apiVersion", "kind"] {
            fields.insert(name.to_owned(), text.clone());
        }
    }
    (fields, least_bytes)
}

/// As the compiler's messages name it.
impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Dyn => out.write_str("dyn"),
            Form::Plain(name) => out.write_str(match *name {
                "ip" => "net.IP",
                "cidr" => "net.CIDR",
                "url" => "kubernetes.URL",
                "quantity" => "kubernetes.Quantity",
                "semver" => "kubernetes.Semver",
                "format" => "kubernetes.NamedFormat",
                name => name,
            }),
            Form::List(item) => write!(out, "list({item})"),
            Form::Map(key, value) => write!(out, "map({key}, {value})"),
            Form::Object(_) => out.write_str("object"),
            Form::Open(letter) => write!(out, "{letter}"),
        }
    }
}
