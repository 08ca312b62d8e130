//! The parts of `hub_fidelity`: scripts of requests, the hubs that answer them, and the comparison of the answers.

mod compare;
mod hubs;
mod normal;
mod player;
mod random;
mod script;
#[path = "../support/scripts.rs"]
mod scripts;
mod table;

pub use compare::differences;
pub use hubs::{Hub, Real};
pub use player::{Answer, play};
pub use random::{RANDOM, play_random};
pub use script::Script;
pub use table::Table;
