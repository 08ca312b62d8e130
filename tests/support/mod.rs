//! What several integration tests share.

use envtest::Assets;

/// The API server's programs, or why a test that needs them has to be ignored.
pub fn assets_or_reason() -> Result<Assets, String> {
    Assets::find(None).map_err(|error| error.to_string())
}
