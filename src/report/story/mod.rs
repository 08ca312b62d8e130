//! How an object came to what a finding says of it: its versions, who wrote them and what they changed, with its member's
//! answers, the driver's steps, and what a consumer did between.
//!
//! Everything is read from the evidence, without credentials and bounded. Text is as the hub has it: each format escapes
//! it.

mod choice;
mod compare;
mod difference;
mod draft;
mod event;
mod look;
mod named;
mod object;
mod representatives;
mod stories;
mod testbed;
#[cfg(test)]
mod tests;

pub(crate) use event::{Changed, Event, Story, What};
pub(crate) use named::{Named, named};
pub(crate) use representatives::representatives;
pub(crate) use stories::Stories;
