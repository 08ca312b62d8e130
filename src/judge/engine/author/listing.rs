//! Lists the writers of a role's objects for `doctor`.

use evidence::{Evidence, api::Role};

use super::{Author, Authors, Candidate, WriterName};
use crate::text::redacted;

/// The writers of a role's objects, and the flags that name the implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterList {
    /// One line for each writer: its name, and what it wrote.
    pub lines: Vec<String>,
    /// The flags of the writers that are inferred to be the implementation.
    pub inferred: Vec<String>,
    /// The flags of the writers that publish, and may be the implementation or not.
    pub unknown: Vec<String>,
}

/// Lists the writers of the judged objects of a role.
pub fn writers(evidence: &Evidence, role: Role) -> WriterList {
    let mut list = WriterList::default();
    for candidate in Authors::of(evidence, role).candidates() {
        list.lines.push(line(&candidate));
        let attribution = candidate.attribution;
        if attribution.is_inferred {
            list.inferred.push(candidate.flags);
        } else if candidate.written.publishes && matches!(attribution.author, Author::Unknown(_)) {
            list.unknown.push(candidate.flags);
        }
    }
    list
}

fn line(candidate: &Candidate<'_>) -> String {
    let name = match candidate.name {
        WriterName::Client { user, program: "" } => format!("user {}", redacted(user)),
        WriterName::Client { user, program } => {
            format!("user {}, agent {}", redacted(user), redacted(program))
        }
        WriterName::FieldManager(name) => format!("field manager {}", redacted(name)),
    };
    let counts = candidate.written.counts.iter();
    let counts: Vec<String> = counts
        .map(|(what, count)| format!("{} {count}", redacted(what)))
        .collect();
    let author = match candidate.attribution.author {
        Author::Run => " (this suite)",
        _ if candidate.name.is_hub() => " (the hub itself)",
        _ => "",
    };
    format!("{name}{author}: {}", counts.join(", "))
}
