//! The report as one HTML file, for people: it needs no network, and nothing in it but our own script runs.
//!
//! Hub text is only in text and in titles of drawings, shortened and escaped by [`text`]; ids and links consist of
//! numbers and rule names. The templates are in `templates/`.

mod activity;
pub(crate) mod axis;
mod bars;
mod bucket;
mod choices;
mod conditions;
mod detail;
mod entries;
mod excerpt;
mod findings;
mod fleet;
mod head;
mod mend;
mod namespaces;
mod notices;
mod objects;
mod page;
mod rules;
pub(crate) mod shared;
pub(crate) mod sign;
mod state;
mod story;
pub(crate) mod text;
mod words;

pub use page::write;

#[cfg(test)]
mod tests;
