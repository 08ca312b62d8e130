//! Finds the folder of programs, and checks that they are in it.

use std::{
    env,
    ffi::OsString,
    fs, iter,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::EnvtestError;

const ENVIRONMENT_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Where Kubebuilder's own set-up has always put them.
const SYSTEM_FOLDER: &str = "/usr/local/kubebuilder/bin";

/// A folder that has `etcd` and `kube-apiserver`, and usually `kubectl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// Finds the programs: in the folder that `$KUBEBUILDER_ASSETS` names, else in `/usr/local/kubebuilder/bin`, else in
    /// the newest folder inside `builds`, which has one for each version or build.
    ///
    /// If the environment names a folder, no other one is considered: a fallback would silently test another Kubernetes.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`], which lists where it looked.
    pub fn find(builds: Option<&Path>) -> Result<Self, EnvtestError> {
        Self::find_among(
            env::var_os(ENVIRONMENT_VARIABLE),
            Path::new(SYSTEM_FOLDER),
            builds,
        )
    }

    /// The programs in this folder.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`] when one is not there.
    pub fn in_folder(folder: &Path) -> Result<Self, EnvtestError> {
        Self::first_of([(folder.to_owned(), String::new())])
    }

    fn find_among(
        environment: Option<OsString>,
        system: &Path,
        builds: Option<&Path>,
    ) -> Result<Self, EnvtestError> {
        if let Some(folder) = environment.filter(|value| !value.is_empty()) {
            return Self::first_of([(PathBuf::from(folder), format!(" (from {ENVIRONMENT_VARIABLE})"))]);
        }
        let newest = builds.map(|builds| newest_build(builds).unwrap_or_else(|| builds.join("*")));
        let folders = iter::once(system.to_owned()).chain(newest);
        Self::first_of(folders.map(|folder| (folder, String::new())))
    }

    /// The first of these folders that has the programs. Each comes with words on why it is considered.
    fn first_of(folders: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, EnvtestError> {
        let mut looked_in = Vec::new();
        for (folder, origin) in folders {
            match missing_programs(&folder) {
                None => {
                    return Ok(Self {
                        folder: absolute(folder),
                    });
                }
                Some(missing) => looked_in.push(format!("{}{origin}: {missing}", folder.display())),
            }
        }
        Err(EnvtestError::AssetsMissing { looked_in })
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The etcd program.
    pub fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    /// The kube-apiserver program.
    pub fn kube_apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// The kubectl program, if the folder has one.
    pub fn kubectl(&self) -> Option<PathBuf> {
        Some(self.folder.join("kubectl")).filter(|path| path.is_file())
    }
}

fn missing_programs(folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        return Some("no such folder".to_owned());
    }
    let missing: Vec<&str> = ["etcd", "kube-apiserver"]
        .into_iter()
        .filter(|program| !folder.join(program).is_file())
        .collect();
    (!missing.is_empty()).then(|| format!("no {} in it", missing.join(", no ")))
}

/// The folder whose kube-apiserver was written last. An interrupted build has none.
fn newest_build(builds: &Path) -> Option<PathBuf> {
    let written = |folder: &Path| -> Option<SystemTime> {
        fs::metadata(folder.join("kube-apiserver"))
            .and_then(|file| file.modified())
            .ok()
    };
    fs::read_dir(builds)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| missing_programs(folder).is_none())
        .max_by_key(|folder| written(folder))
}

/// The servers run in another folder, where a relative path would not lead to the programs.
fn absolute(folder: PathBuf) -> PathBuf {
    std::path::absolute(&folder).unwrap_or(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(parent: &Path, name: &str, programs: &[&str]) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(&folder).unwrap();
        for program in programs {
            fs::write(folder.join(program), "").unwrap();
        }
        folder
    }

    #[test]
    fn nothing_replaces_the_folder_that_the_environment_names() {
        let place = tempfile::tempdir().unwrap();
        let whole = folder_with(place.path(), "whole", &["etcd", "kube-apiserver"]);
        let other = folder_with(place.path(), "other", &["etcd", "kube-apiserver", "kubectl"]);
        let half = folder_with(place.path(), "half", &["kube-apiserver"]);
        let find = |environment: Option<&Path>| {
            let environment = environment.map(|path| path.as_os_str().to_owned());
            Assets::find_among(environment, &whole, Some(place.path()))
        };

        assert_eq!(find(Some(&other)).unwrap().kubectl(), Some(other.join("kubectl")));
        assert_eq!(find(None).unwrap().folder(), whole);
        assert_eq!(find(None).unwrap().kubectl(), None);

        let error = find(Some(&half)).unwrap_err().to_string();
        let expected = format!("{} (from KUBEBUILDER_ASSETS): no etcd in it", half.display());
        assert!(error.contains(&expected), "{error}");

        assert_eq!(Assets::in_folder(&other).unwrap().folder(), other);
        let error = Assets::in_folder(&half).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{}: no etcd in it", half.display())),
            "{error}"
        );
    }

    #[test]
    fn the_newest_complete_build_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let nowhere = place.path().join("nowhere");
        let builds = place.path().join("builds");
        let age = |folder: &Path, seconds: u64| {
            let file = fs::File::options()
                .write(true)
                .open(folder.join("kube-apiserver"))
                .unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        };

        let error = Assets::find_among(None, &nowhere, Some(&builds))
            .unwrap_err()
            .to_string();
        for expected in [
            format!("{}: no such folder", nowhere.display()),
            format!("{}: no such folder", builds.join("*").display()),
            "KUBEBUILDER_ASSETS".to_owned(),
        ] {
            assert!(error.contains(&expected), "{error}");
        }

        age(&folder_with(&builds, "a", &["etcd", "kube-apiserver"]), 100);
        age(&folder_with(&builds, "b", &["etcd", "kube-apiserver"]), 300);
        age(&folder_with(&builds, "c", &["etcd", "kube-apiserver"]), 200);
        age(&folder_with(&builds, "interrupted", &["kube-apiserver"]), 400);
        let found = Assets::find_among(Some(OsString::new()), &nowhere, Some(&builds)).unwrap();
        assert_eq!(found.folder(), builds.join("b"));
    }
}
