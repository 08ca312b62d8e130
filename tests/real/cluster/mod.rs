//! The suite as a Job, on the cluster of `ci/cluster`: what `ci/in-cluster` promises.
//!
//! The trials share one cluster, so they run one after the other. Each may run again on the same cluster.

mod hub;
mod job;
pub mod kubectl;
mod kustomization;
mod traces;

use std::sync::{Mutex, PoisonError};

use kubectl::Cluster;
use libtest_mimic::Trial;

use crate::trials::trial_with;

/// Held by the trial that uses the cluster.
static CLUSTER: Mutex<()> = Mutex::new(());

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_job_reports_what_a_run_from_outside_reports",
            job::reports_what_a_run_from_outside_reports,
        ),
        trial(
            "a_job_that_may_not_read_secrets_is_inconclusive",
            job::that_may_not_read_secrets_is_inconclusive,
        ),
        trial(
            "a_job_that_finds_a_violation_is_not_retried",
            job::that_finds_a_violation_is_not_retried,
        ),
        trial(
            "a_job_without_the_role_says_what_is_missing",
            job::without_the_role_says_what_is_missing,
        ),
        trial(
            "the_namespace_refuses_pods_with_more_privileges",
            job::the_namespace_refuses_pods_with_more_privileges,
        ),
        trial(
            "channels_share_no_object_and_leave_the_cluster_as_it_was",
            traces::channels_share_no_object_and_leave_the_cluster_as_it_was,
        ),
    ]
}

fn trial(name: &str, test: fn(&Cluster)) -> Trial {
    trial_with(format!("cluster::{name}"), Cluster::find, move |cluster| {
        let _held = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
        test(&cluster);
    })
}
