//! The command line: what it prints, what it leaves behind, and the codes that it exits with.

mod board;
mod config;
mod docs;
mod doctor;
mod dumps;
mod network;
mod on_the_lab;
#[cfg(unix)]
mod outputs;
mod printed;
mod reports;
mod schemas;
mod scope;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod usage;
mod waivers;

use std::{fs, path::Path, process::Stdio};

use judge::rules;
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    command::{
        self, Folder, assert_contains, call, command, done, expect, expect_output, refused, signal, table,
        unwrapped,
    },
    served_lab,
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The first lines of a configuration.
const HEAD: &str = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\n";

/// The verdict of a rule in a JSON report.
fn verdict_of<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    verdicts
        .find(|verdict| verdict["rule"] == rule)
        .expect("the rule is in the report")
}

/// The ids of the rules with a verdict.
fn rules_with<'a>(report: &'a Value, verdict: &str) -> Vec<&'a str> {
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let rules = verdicts.filter(|of_rule| of_rule["verdict"] == verdict);
    rules.filter_map(|of_rule| of_rule["rule"].as_str()).collect()
}
