//! The formats that rules check texts by: `format.dns1123Label().validate(self)`.

use std::sync::Arc;

use kube_cel::cel::{
    Context, ExecutionError, Value as Cel,
    extractors::This,
    objects::{Opaque, OptionalValue},
};

use super::{formats::Format, go_url};
use crate::object::names;

/// Returns the complaints about a text.
type Check = fn(&str) -> Vec<String>;

/// Each format, by the function that returns it.
const FORMATS: [(&str, Check); 13] = [
    ("format.dns1123Label", names::dns_label),
    ("format.dns1123LabelPrefix", |text| {
        names::dns_label(&names::completed(text))
    }),
    ("format.dns1123Subdomain", names::dns_subdomain),
    ("format.dns1123SubdomainPrefix", |text| {
        names::dns_subdomain(&names::completed(text))
    }),
    ("format.dns1035Label", names::dns_1035_label),
    ("format.dns1035LabelPrefix", |text| {
        names::dns_1035_label(&names::completed(text))
    }),
    ("format.qualifiedName", names::label_key),
    ("format.labelValue", names::label_value),
    ("format.uri", |text| {
        let error = go_url::check(text).err();
        error.iter().map(ToString::to_string).collect()
    }),
    ("format.uuid", |text| {
        unless(Format::UUID.matches(text), "does not match the UUID format")
    }),
    ("format.byte", |text| {
        unless(Format::BYTE.matches(text), "invalid base64")
    }),
    ("format.date", |text| {
        unless(Format::DATE.matches(text), "invalid date")
    }),
    ("format.datetime", |text| {
        unless(Format::DATE_TIME.matches(text), "invalid datetime")
    }),
];

/// A format, by its place in [`FORMATS`].
#[derive(Debug, PartialEq, Eq)]
struct NamedFormat(usize);

impl Opaque for NamedFormat {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.NamedFormat"
    }
}

/// Registers the functions, in place of the library's, which check bytes and URIs by other rules.
pub(super) fn register(context: &mut Context<'_>) {
    for (i, (name, _)) in FORMATS.iter().enumerate() {
        context.add_function(name, move || -> Result<Cel, ExecutionError> {
            Ok(Cel::Opaque(Arc::new(NamedFormat(i))))
        });
    }
    context.add_function(
        "format.named",
        |wanted: Arc<String>| -> Result<Cel, ExecutionError> {
            let mut names = FORMATS.iter().map(|(name, _)| name.trim_start_matches("format."));
            let found = names.position(|name| name == wanted.as_str());
            Ok(optional(found.map(|i| Cel::Opaque(Arc::new(NamedFormat(i))))))
        },
    );
    context.add_function(
        "validate",
        |This(format): This<Cel>, text: Arc<String>| -> Result<Cel, ExecutionError> {
            let named = match &format {
                Cel::Opaque(opaque) => opaque.downcast_ref::<NamedFormat>(),
                _ => None,
            };
            let named = named.ok_or_else(|| ExecutionError::unsupported_target_type(format.clone()))?;
            let (_, check) = FORMATS[named.0];
            let complaints: Vec<Cel> = check(&text)
                .into_iter()
                .map(|why| Cel::String(Arc::new(why)))
                .collect();
            Ok(optional(
                (!complaints.is_empty()).then(|| Cel::List(Arc::new(complaints))),
            ))
        },
    );
}

fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(
        value.map_or_else(OptionalValue::none, OptionalValue::of),
    ))
}

/// The complaint, unless the text is right.
fn unless(is_right: bool, complaint: &str) -> Vec<String> {
    (!is_right).then(|| complaint.to_owned()).into_iter().collect()
}
