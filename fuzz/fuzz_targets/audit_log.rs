//! An audit log.
#![no_main]

use std::{cell::RefCell, io::Write};

use clusterprofile_conformance::{
    collect::requests::{merge_into, read_audit_log},
    evidence::Evidence,
};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

thread_local!(static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a file")));

fuzz_target!(|data: &[u8]| FILE.with_borrow_mut(|file| {
    std::fs::File::create(file.path())
        .and_then(|mut file| file.write_all(data))
        .expect("written");
    if let Ok(log) = read_audit_log(&[file.path().to_owned()]) {
        merge_into(&mut Evidence::default(), log);
    }
}));
