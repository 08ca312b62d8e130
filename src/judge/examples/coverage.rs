//! Compares a document with the map of its sentences in `fixtures/documents`: `ci/coverage` runs it.

use std::{error::Error, io, process::ExitCode};

#[path = "../tests/coverage/compare.rs"]
mod compare;
#[path = "../tests/coverage/document.rs"]
mod document;
#[path = "../tests/coverage/go.rs"]
mod go;
#[expect(dead_code, reason = "the test needs all of the map")]
#[path = "../tests/coverage/map.rs"]
mod map;
#[path = "../tests/coverage/tool.rs"]
mod tool;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match tool::run(&arguments, &map::Map::all(), &mut io::stdout()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(failure) => {
            let cause = failure
                .source()
                .map_or_else(String::new, |cause| format!(": {cause}"));
            eprintln!("error: {failure}{cause}");
            ExitCode::from(2)
        }
    }
}
