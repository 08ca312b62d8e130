//! Trials that need what not every machine has.

use std::path::Path;

use envtest::Assets;
use lab::hub;
use libtest_mimic::{Completion, Failed, Trial};

pub fn trial(name: impl Into<String>, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        test();
        Ok(())
    })
}

/// A trial with what it needs, ignored with the reason where that is missing.
pub fn trial_with<Needed: 'static>(
    name: impl Into<String>,
    find: fn() -> Result<Needed, String>,
    test: impl FnOnce(Needed) + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || -> Result<Completion, Failed> {
        match find() {
            Ok(needed) => {
                test(needed);
                Ok(Completion::Completed)
            }
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }
    })
}

/// The API server's programs, or why a trial that needs them has to be ignored.
pub fn assets_or_reason() -> Result<Assets, String> {
    hub::assets(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|error| error.to_string())
}
