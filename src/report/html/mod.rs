//! The report as one HTML file, for people: it needs no network, and nothing in it but our own script runs.
//!
//! What the hub says stands in text and in the titles of drawings alone, shortened and made visible by [`text`];
//! ids and links are made of numbers and of our rules' names. The templates are in `templates/`.

mod activity;
mod axis;
mod bars;
mod bucket;
mod excerpt;
mod findings;
mod fleet;
mod head;
mod namespaces;
mod notices;
mod objects;
mod page;
mod profiles;
mod rules;
mod sign;
mod text;

pub use page::write;

#[cfg(test)]
mod tests;
