//! The report as one HTML file for people. It needs no network and runs no script.
//!
//! Hub text is only in text and in titles of drawings, shortened and escaped by [`display::shown`]; ids and links
//! consist of rule names. The templates are in `templates/`.

pub(crate) mod display;
mod excerpt;
pub(crate) mod findings;
mod page;
mod plot;
pub(crate) mod squares;
#[cfg(test)]
mod tests;

pub use page::write;
