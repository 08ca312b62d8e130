//! `sonobuoy`: run as a plugin of Sonobuoy, and hand over the results in its format.

mod plugin;
mod relay;
mod results;

pub use plugin::Sonobuoy;
pub use relay::Relay;
