//! An observation that goes on: what a run sees, for as long as a window lasts, at any time as of now.
//!
//! It is made of the parts of a run: the same lists, watches, waits and gaps. What is older than the window is forgotten,
//! so that what it holds depends on the hub and the window, and not on how long it lasts.

mod following;
mod mirror;
mod namespaces;
mod view;

pub use following::{Following, observe};
pub use view::{Health, View};
