//! Runs programs as subprocesses, within limits of time and output, and ends what they have started.
//!
//! The hooks of a driver file run this way, and both kinds of credential plugins. A subprocess that exits by itself may
//! leave processes running. One that is ended takes its process group along, and so does the end of this process. An
//! interactive plugin stays in our process group: only the plugin itself is ended.

mod output;
mod run;

#[cfg(all(test, unix))]
pub(crate) mod tests;

pub(crate) use output::{Sink, Tail};
pub(crate) use run::{End, Subprocess, Subprocesses, with_last_words};
