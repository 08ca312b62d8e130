//! Runs on the lab and on files.

mod chaos;
mod consumers;
mod degraded;
mod hostile_inputs;
mod trust;
