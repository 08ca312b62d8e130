//! The fields of an object that the implementation owns.

use evidence::api::Metadata;

use super::{Author, Authors, writers::WriterName};

/// Field managers that many programs have by default. They identify a program only if they are configured.
const DEFAULT_FIELD_MANAGERS: [&str; 8] = [
    "",
    "controller",
    "controller-manager",
    "Go-http-client",
    "main",
    "manager",
    "operator",
    "unknown",
];

/// What one field manager of the implementation owns in an object.
pub(crate) struct OwnedFields<'o> {
    /// The field manager.
    pub(crate) field_manager: &'o str,
    /// The paths of the fields.
    pub(crate) fields: Vec<&'o str>,
    /// True if the name of the field manager was inferred, not configured.
    pub(crate) is_inferred: bool,
}

impl<'e> Authors<'e> {
    /// Whether a field manager of the implementation is configured or inferred.
    pub(crate) fn knows_field_manager(&self) -> bool {
        self.writers.keys().any(|name| {
            matches!(name, WriterName::FieldManager(_))
                && self.names.of_writer(*name).author == Author::Implementation
        })
    }

    /// What the implementation owns in an object; none without managedFields.
    pub(crate) fn owned_fields<'o>(&'o self, object: &'o Metadata) -> Option<Vec<OwnedFields<'o>>> {
        let entries = object.writers.as_deref()?.iter();
        let owned = entries.filter_map(|entry| {
            let attribution = self.of_field_manager(&entry.manager);
            let is_identified =
                !attribution.is_inferred || !DEFAULT_FIELD_MANAGERS.contains(&&*entry.manager);
            (attribution.author == Author::Implementation && is_identified).then(|| OwnedFields {
                field_manager: &entry.manager,
                fields: entry.owns.iter().map(|field| &**field).collect(),
                is_inferred: attribution.is_inferred,
            })
        });
        Some(owned.collect())
    }
}
