//! The command line: what it prints, what it leaves behind, and the codes that it exits with.

mod basis;
mod board;
mod call;
mod config;
mod docs;
mod doctor;
mod dumps;
mod everyday;
mod first_sight;
#[cfg(unix)]
mod hub;
mod in_cluster;
mod input;
mod installed;
mod listed;
mod managers;
mod network;
mod on_the_lab;
mod reports;
mod schemas;
mod scope;
mod settling;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod usage;
mod waivers;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use evidence::{Kind, api::Edition};
use flate2::{Compression, write::GzEncoder};
use judge::rules::{self, Basis, Rule};
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::call::{Done, Folder, call, call_in_80_columns, command, expect, refused};
