#![doc = include_str!("README.md")]

mod assets;
mod certificates;
mod error;
mod options;
mod processes;
mod ready;
mod server;
mod users;

pub use assets::Assets;
pub use error::EnvtestError;
pub use options::EnvtestOptions;
pub use ready::ready;
pub use server::Envtest;
pub use users::User;
