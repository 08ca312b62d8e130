//! Finds the folder of programs, and checks that they are in it.

use std::{
    env, fs, iter,
    path::{self, Path, PathBuf},
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
        let named = env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty());
        Self::find_among(named.map(PathBuf::from), Path::new(SYSTEM_FOLDER), builds)
    }

    /// The programs in this folder.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`] when one is not there.
    pub fn in_folder(folder: &Path) -> Result<Self, EnvtestError> {
        Self::find_among(Some(folder.to_owned()), Path::new(""), None)
    }

    fn find_among(
        named: Option<PathBuf>,
        system: &Path,
        builds: Option<&Path>,
    ) -> Result<Self, EnvtestError> {
        let newest = builds.map(|builds| newest_build(builds).unwrap_or_else(|| builds.join("*")));
        let folders = match named {
            Some(folder) => vec![folder],
            None => iter::once(system.to_owned()).chain(newest).collect(),
        };
        let mut looked_in = Vec::new();
        for folder in folders {
            let missing = missing_programs(&folder);
            if missing.is_empty() {
                // The servers run in another folder, where a relative path would not lead to the programs.
                let folder = path::absolute(&folder).unwrap_or(folder);
                return Ok(Self { folder });
            }
            looked_in.push(format!("{}: no {}", folder.display(), missing.join(", no ")));
        }
        Err(EnvtestError::AssetsMissing { looked_in })
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubectl program, if the folder has one.
    pub fn kubectl(&self) -> Option<PathBuf> {
        Some(self.folder.join("kubectl")).filter(|path| path.is_file())
    }
}

fn missing_programs(folder: &Path) -> Vec<&'static str> {
    let mut programs = vec!["etcd", "kube-apiserver"];
    programs.retain(|program| !folder.join(program).is_file());
    programs
}

/// The folder whose kube-apiserver was written last. An interrupted build has none.
fn newest_build(builds: &Path) -> Option<PathBuf> {
    let written = |folder: &PathBuf| {
        fs::metadata(folder.join("kube-apiserver"))
            .and_then(|file| file.modified())
            .ok()
    };
    let folders = fs::read_dir(builds)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    let complete = folders.filter(|folder| missing_programs(folder).is_empty());
    complete.max_by_key(written)
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
            Assets::find_among(environment.map(Path::to_owned), &whole, Some(place.path()))
        };

        assert_eq!(find(Some(&other)).unwrap().kubectl(), Some(other.join("kubectl")));
        assert_eq!(find(None).unwrap().folder(), whole);
        assert_eq!(find(None).unwrap().kubectl(), None);

        let error = find(Some(&half)).unwrap_err().to_string();
        let expected = format!("{}: no etcd", half.display());
        assert!(error.contains(&expected), "{error}");

        assert_eq!(Assets::in_folder(&other).unwrap().folder(), other);
        let error = Assets::in_folder(&half).unwrap_err().to_string();
        assert!(error.contains(&format!("{}: no etcd", half.display())), "{error}");
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
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        };

        let error = Assets::find_among(None, &nowhere, Some(&builds))
            .unwrap_err()
            .to_string();
        for expected in [
            format!("{}: no etcd, no kube-apiserver", nowhere.display()),
            format!("{}: no etcd, no kube-apiserver", builds.join("*").display()),
            "KUBEBUILDER_ASSETS".to_owned(),
        ] {
            assert!(error.contains(&expected), "{error}");
        }

        age(&folder_with(&builds, "a", &["etcd", "kube-apiserver"]), 100);
        age(&folder_with(&builds, "b", &["etcd", "kube-apiserver"]), 300);
        age(&folder_with(&builds, "c", &["etcd", "kube-apiserver"]), 200);
        age(&folder_with(&builds, "interrupted", &["kube-apiserver"]), 400);
        let found = Assets::find_among(None, &nowhere, Some(&builds)).unwrap();
        assert_eq!(found.folder(), builds.join("b"));
    }
}
