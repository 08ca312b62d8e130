//! The suite on real parts: kube-apiserver, kubectl, credential plugins, a cluster, and implementations that run as
//! programs.

mod admission;
mod cluster;
mod driver;
mod envtest;
mod plugins;
mod readme;

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let trials = [
        admission::trials(),
        cluster::trials(),
        driver::trials(),
        envtest::trials(),
        plugins::trials(),
        readme::trials(),
    ];
    trials.into_iter().flatten().collect()
}
