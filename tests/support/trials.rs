//! Trials that need programs which not every machine has.

use std::path::Path;

use envtest::Assets;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use lab::hub;
use libtest_mimic::{Completion, Failed, Trial};
use tokio::runtime::Runtime;

pub fn trial(name: impl Into<String>, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        test();
        Ok(())
    })
}

/// A trial with what it needs, ignored with the reason if that is missing.
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

/// A client for the cluster of a kubeconfig, unless the file is missing or not valid.
pub async fn client_of(kubeconfig: &Path) -> Option<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).ok()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.ok()?).ok()
}

/// An asynchronous trial with what it needs.
pub fn async_trial_with<Needed: 'static, F: Future<Output = ()> + 'static>(
    name: impl Into<String>,
    find: fn() -> Result<Needed, String>,
    test: fn(Needed) -> F,
) -> Trial {
    trial_with(name, find, move |needed| {
        Runtime::new().expect("a runtime").block_on(test(needed));
    })
}

/// The API server's programs, or why a trial that needs them has to be ignored.
pub fn assets_or_reason() -> Result<Assets, String> {
    hub::assets(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|error| error.to_string())
}
