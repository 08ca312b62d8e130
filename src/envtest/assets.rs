//! The folder of programs: where it may be, and what must be in it.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::EnvtestError;

const ENVIRONMENT_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Where Kubebuilder's own set-up has always put them.
const SYSTEM_FOLDER: &str = "/usr/local/kubebuilder/bin";
/// Where `ci/envtest/build` puts them, one folder for each state of its pins.
const BUILT_FOLDER: &str = "ci/envtest/.cache";

/// A folder that has `etcd` and `kube-apiserver`, and usually `kubectl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// Finds the programs: in the folder `explicit`, else in the one that `$KUBEBUILDER_ASSETS` names, else in
    /// `/usr/local/kubebuilder/bin`, else in the newest that `ci/envtest/build` made under the current folder.
    ///
    /// A folder that was named, by argument or environment, is the only one considered: to fall back on another one
    /// would silently judge on another Kubernetes.
    ///
    /// # Errors
    /// [`EnvtestError::AssetsMissing`], which lists where it looked and how to get the programs.
    pub fn find(explicit: Option<&Path>) -> Result<Self, EnvtestError> {
        let named = env::var_os(ENVIRONMENT_VARIABLE);
        Self::find_among(explicit, named, Path::new(SYSTEM_FOLDER), Path::new(BUILT_FOLDER))
    }

    fn find_among(
        explicit: Option<&Path>,
        environment: Option<OsString>,
        system: &Path,
        built: &Path,
    ) -> Result<Self, EnvtestError> {
        let environment = environment.filter(|value| !value.is_empty()).map(PathBuf::from);
        let candidates = match (explicit, environment) {
            (Some(folder), _) => vec![(folder.to_owned(), String::new())],
            (None, Some(folder)) => vec![(folder, format!(" (from {ENVIRONMENT_VARIABLE})"))],
            (None, None) => {
                let newest = newest_built(built).unwrap_or_else(|| built.join("*"));
                vec![(system.to_owned(), String::new()), (newest, String::new())]
            }
        };

        let mut looked_in = Vec::new();
        for (folder, origin) in candidates {
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

    /// The kubectl program, where the folder has one.
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

/// The folder whose kube-apiserver was written last. A build that was interrupted has none.
fn newest_built(built: &Path) -> Option<PathBuf> {
    let written = |folder: &Path| -> Option<SystemTime> {
        fs::metadata(folder.join("kube-apiserver"))
            .and_then(|file| file.modified())
            .ok()
    };
    fs::read_dir(built)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| missing_programs(folder).is_none())
        .max_by_key(|folder| written(folder))
}

/// The servers run in a folder of their own, so a relative path would no longer lead to the programs.
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
    fn the_named_folder_wins_and_nothing_stands_in_for_it() {
        let place = tempfile::tempdir().unwrap();
        let whole = folder_with(place.path(), "whole", &["etcd", "kube-apiserver"]);
        let other = folder_with(place.path(), "other", &["etcd", "kube-apiserver", "kubectl"]);
        let half = folder_with(place.path(), "half", &["kube-apiserver"]);
        let find = |explicit: Option<&Path>, environment: Option<&Path>| {
            let environment = environment.map(|path| path.as_os_str().to_owned());
            Assets::find_among(explicit, environment, &whole, place.path())
        };

        assert_eq!(find(Some(&other), Some(&whole)).unwrap().folder(), other);
        assert_eq!(
            find(None, Some(&other)).unwrap().kubectl(),
            Some(other.join("kubectl"))
        );
        assert_eq!(find(None, None).unwrap().folder(), whole);
        assert_eq!(find(None, None).unwrap().kubectl(), None);

        let error = find(None, Some(&half)).unwrap_err().to_string();
        assert!(
            error.contains(&format!(
                "{} (from KUBEBUILDER_ASSETS): no etcd in it",
                half.display()
            )),
            "{error}"
        );
    }

    #[test]
    fn of_several_builds_the_newest_whole_one_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let nowhere = place.path().join("nowhere");
        let built = place.path().join("built");
        let age = |folder: &Path, seconds: u64| {
            let file = fs::File::options()
                .write(true)
                .open(folder.join("kube-apiserver"))
                .unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
                .unwrap();
        };

        let error = Assets::find_among(None, None, &nowhere, &built)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("{}: no such folder", nowhere.display())),
            "{error}"
        );
        assert!(
            error.contains("ci/envtest/build") && error.contains("KUBEBUILDER_ASSETS"),
            "{error}"
        );

        age(&folder_with(&built, "a", &["etcd", "kube-apiserver"]), 100);
        age(&folder_with(&built, "b", &["etcd", "kube-apiserver"]), 300);
        age(&folder_with(&built, "c", &["etcd", "kube-apiserver"]), 200);
        age(&folder_with(&built, "interrupted", &["kube-apiserver"]), 400);
        let found = Assets::find_among(None, Some(OsString::new()), &nowhere, &built).unwrap();
        assert_eq!(found.folder(), built.join("b"));
    }
}
