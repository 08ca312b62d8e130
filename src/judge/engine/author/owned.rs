//! The fields of an object that the implementation owns.

use evidence::{Reason, api::Metadata, parse_time};
use jiff::Timestamp;

use super::{Author, Authors, sources::is_recorded_manager, writers::is_kubectl};

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

/// The fields of an object that a program owns by writes of one kind.
pub(crate) struct ProgramEntry<'o> {
    /// The field manager. It is not kubectl's, which people use.
    pub(crate) field_manager: &'o str,
    /// Whether it is the implementation's.
    pub(crate) author: Author,
    /// `Apply` or `Update`.
    pub(crate) operation: &'o str,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: &'o str,
    /// The time of the last write.
    pub(crate) written_at: Option<Timestamp>,
    /// The paths of the fields.
    pub(crate) fields: Vec<&'o str>,
}

impl<'e> Authors<'e> {
    /// The fields of an object by the programs that own them.
    pub(crate) fn program_entries<'o>(&'o self, object: &'o Metadata) -> Vec<ProgramEntry<'o>> {
        let entries = object.writers.as_deref().unwrap_or_default().iter();
        let by_programs =
            entries.filter(|entry| is_recorded_manager(&entry.manager) && !is_kubectl(&entry.manager));
        let entries = by_programs.map(|entry| ProgramEntry {
            field_manager: &entry.manager,
            author: self.of_field_manager(&entry.manager).author,
            operation: &entry.operation,
            subresource: &entry.subresource,
            written_at: entry.time.as_deref().and_then(parse_time),
            fields: entry.owns.iter().map(|field| &**field).collect(),
        });
        entries.collect()
    }

    /// Why no field manager is known to be the implementation's; none if one is.
    pub(crate) fn why_no_field_manager(&self) -> Option<Reason> {
        let field_managers = self.writers.keys().filter(|name| !name.is_client());
        let mut unknown = None;
        for name in field_managers {
            match self.names.of_writer(*name).author {
                Author::Implementation => return None,
                Author::Unknown(reason) => unknown = Some(reason),
                Author::Run | Author::Other => {}
            }
        }
        Some(unknown.unwrap_or_else(|| self.advice()))
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
