//! What several integration tests share.

use std::path::Path;

use envtest::Assets;
use lab::hub;

/// The API server's programs, or why a test that needs them has to be ignored.
pub fn assets_or_reason() -> Result<Assets, String> {
    hub::assets(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|error| error.to_string())
}
