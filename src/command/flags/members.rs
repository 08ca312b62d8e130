//! The members to query that the user names.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use collect::{Members, read_members};

use crate::command::{Failure, Target, bail_usage};

/// Where kubeconfigs of members come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersFrom {
    Nowhere,
    Secrets,
    File(PathBuf),
}

impl From<OsString> for MembersFrom {
    fn from(value: OsString) -> Self {
        match value.to_str() {
            Some("none") => MembersFrom::Nowhere,
            Some("from-secrets") => MembersFrom::Secrets,
            _ => MembersFrom::File(value.into()),
        }
    }
}

/// Checks the flags against each other and against the target.
pub fn check(sources: &[MembersFrom], providers: Option<&Path>, target: &Target) -> Result<(), Failure> {
    let number = sources.len() + usize::from(providers.is_some());
    if sources.contains(&MembersFrom::Nowhere) {
        if number > 1 {
            bail_usage!(
                "--members none queries no member: leave out the other --members and --provider-file, or name a file \
                 of that name as ./none"
            );
        }
    } else if number > 0 && target.reference().is_some() {
        bail_usage!(
            "a test hub brings its own members, which need no flag: leave out --members and --provider-file"
        );
    }
    Ok(())
}

/// Reads the members; also returns the files that were read.
pub fn from_files(sources: &[MembersFrom]) -> Result<(Members, Vec<PathBuf>), Failure> {
    let (mut members, mut files) = (Members::default(), Vec::new());
    for from in sources {
        match from {
            MembersFrom::Nowhere => {}
            MembersFrom::Secrets => members.from_secrets = true,
            MembersFrom::File(path) => {
                let (accesses, read) = read_members(path).map_err(Failure::usage)?;
                members.access.extend(accesses);
                files.push(path.clone());
                files.extend(read);
            }
        }
    }
    Ok((members, files))
}
