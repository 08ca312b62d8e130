//! The programs of the README: it has them as they are here, and each of them runs.

use std::{
    env,
    os::unix::fs::symlink,
    process::{self, Command},
};

use envtest::Assets;

use crate::succeeds;

const README: &str = include_str!("../../README.md");

/// Names the program that a copy of this test runs in place of its trials.
const PROGRAM: &str = "ENVTEST_README_PROGRAM";

/// A program of the README.
pub struct Program {
    pub name: &'static str,
    text: &'static str,
    run: fn(),
}

/// A module for each program, and the list of them.
macro_rules! programs {
    ($($name:ident)*) => {
        $(mod $name {
            include!(concat!(stringify!($name), ".rs"));

            pub fn run() {
                main().expect("the program succeeds");
            }
        })*

        pub const PROGRAMS: &[Program] = &[$(Program {
            name: stringify!($name),
            text: include_str!(concat!(stringify!($name), ".rs")),
            run: $name::run,
        }),*];
    };
}

programs!(start users versions);

/// Runs a program instead of the trials, if this process was started for that.
pub fn run_if_asked() {
    let asked = env::var(PROGRAM).unwrap_or_default();
    if let Some(program) = PROGRAMS.iter().find(|program| program.name == asked) {
        (program.run)();
        process::exit(0);
    }
}

pub fn names_this_version() {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    assert!(
        README.contains(&format!("kube-envtest = \"{version}\"")),
        "the README has not {version}"
    );
}

impl Program {
    pub fn stands_in_the_readme(&self) {
        let block = format!("```rust,no_run\n{}```\n", self.text);
        assert!(
            README.contains(&block),
            "the README has not tests/readme/{}.rs",
            self.name
        );
    }

    /// Runs it, as its users would, with a folder that has one folder for each version.
    pub fn runs(&self, assets: &Assets) {
        let versions = tempfile::tempdir().unwrap();
        symlink(assets.folder(), versions.path().join("one")).unwrap();
        succeeds(
            Command::new(env::current_exe().unwrap())
                .env(PROGRAM, self.name)
                .env("KUBEBUILDER_ASSETS", assets.folder())
                .arg(versions.path()),
        );
    }
}
