//! Lists the writers of a role's objects for `doctor`.

use evidence::{Evidence, api::Role};

use super::{Author, Authors, WriterName, writers::Written};
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
    let authors = Authors::of(evidence, role);
    for (name, written) in &authors.writers {
        let attribution = authors.names.of_writer(*name);
        let flags = authors.names.flags(*name, &authors.writers);
        list.lines.push(line(*name, &attribution.author, written));
        if attribution.is_inferred {
            list.inferred.push(flags);
        } else if written.publishes && matches!(attribution.author, Author::Unknown(_)) {
            list.unknown.push(flags);
        }
    }
    list
}

fn line(writer: WriterName, author: &Author, written: &Written) -> String {
    let name = match writer {
        WriterName::Client { user, program: "" } => format!("user {}", redacted(user)),
        WriterName::Client { user, program } => {
            format!("user {}, agent {}", redacted(user), redacted(program))
        }
        WriterName::FieldManager(name) => format!("field manager {}", redacted(name)),
    };
    let counts = written.counts.iter();
    let counts: Vec<String> = counts
        .map(|(what, count)| format!("{} {count}", redacted(what)))
        .collect();
    let author = match author {
        Author::Run => " (this suite)",
        _ if writer.is_hub() => " (the hub itself)",
        _ => "",
    };
    format!("{name}{author}: {}", counts.join(", "))
}
