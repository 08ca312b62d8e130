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
        unwrapped, verdict_of, verdicts,
    },
    served_lab,
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const HEAD: &str = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\n";

fn rules_with<'a>(report: &'a Value, verdict: &str) -> Vec<&'a str> {
    let rules = verdicts(report).filter(|of_rule| of_rule["verdict"] == verdict);
    rules.filter_map(|of_rule| of_rule["rule"].as_str()).collect()
}
