//! What findings say of writes: who wrote, how often, and which fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use evidence::Request;

use crate::{
    fields::is_status,
    text::{counted, redacted},
};

/// The maximum number of writers, and of fields of each, that a finding lists.
const MOST: usize = 3;

/// The name of a writer that the evidence does not show.
const UNKNOWN: &str = "an unknown writer";

/// Writes by their writers. Its text follows a number of writes, such as `3 by m (status.version each time)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<String, WriterTally>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct WriterTally {
    count: usize,
    /// How often each field was written, if the evidence shows it.
    fields: BTreeMap<String, usize>,
}

impl Tally {
    pub(crate) fn add_request(&mut self, request: &Request) {
        self.add(redacted(&request.user), sent(request));
    }

    pub(crate) fn add(&mut self, by: String, fields: impl IntoIterator<Item = String>) {
        let by = if by.is_empty() { UNKNOWN.to_owned() } else { by };
        let writes = self.0.entry(by).or_default();
        writes.count += 1;
        for field in fields {
            *writes.fields.entry(field).or_default() += 1;
        }
    }
}

/// The fields that a patch names. An update or an apply names all fields of its sender, changed or not.
fn sent(request: &Request) -> BTreeSet<String> {
    let is_of_status = &*request.subresource == "status";
    let body = request.body.iter().filter(|_| &*request.verb == "patch");
    let body = body.filter(|body| body.parts.iter().all(|part| part != "metadata.name"));
    let parts = body.flat_map(|body| &body.parts);
    let parts = parts.filter(|part| !is_of_status || is_status(part));
    parts.map(|part| redacted(part)).collect()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writers: Vec<_> = self.0.iter().collect();
        writers.sort_by_key(|(_, writes)| usize::MAX - writes.count);
        let texts = writers
            .iter()
            .map(|(by, writes)| format!("{} by {by}{writes}", writes.count));
        f.write_str(&first_of(texts, "writer"))
    }
}

impl fmt::Display for WriterTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields.is_empty() {
            return Ok(());
        }
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_by_key(|(_, count)| usize::MAX - **count);
        let texts = fields.iter().map(|(field, count)| {
            let times = if **count == self.count {
                "each time".to_owned()
            } else {
                counted(*count, "time")
            };
            format!("{field} {times}")
        });
        write!(f, " ({})", first_of(texts, "field"))
    }
}

/// The first few texts, and how many more things there are.
fn first_of(texts: impl ExactSizeIterator<Item = String>, thing: &str) -> String {
    let more = texts.len().saturating_sub(MOST);
    let mut texts: Vec<String> = texts.take(MOST).collect();
    if more > 0 {
        texts.push(counted(more, &format!("more {thing}")));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(writes: &[(&str, &[&str])]) -> String {
        let mut tally = Tally::default();
        for (by, fields) in writes {
            tally.add((*by).to_owned(), fields.iter().map(|field| (*field).to_owned()));
        }
        tally.to_string()
    }

    #[test]
    fn writers_are_listed_with_their_fields() {
        let writes: [(&str, &[&str]); 3] = [
            ("m", &["status.version"]),
            ("m", &["status.version", "status.conditions"]),
            ("", &["metadata.labels[tier]"]),
        ];
        assert_eq!(
            tally(&writes),
            "2 by m (status.version each time, status.conditions 1 time), 1 by an unknown writer \
             (metadata.labels[tier] each time)"
        );
    }

    #[test]
    fn more_than_three_writers_are_counted() {
        let writes: [(&str, &[&str]); 5] = [("u0", &[]), ("u1", &[]), ("u2", &[]), ("u3", &[]), ("u4", &[])];
        assert_eq!(tally(&writes), "1 by u0, 1 by u1, 1 by u2, 2 more writers");
    }
}
