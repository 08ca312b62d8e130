//! A kubeconfig file: its clusters, and nothing of its users.

use std::{io, path::Path};

use evidence::{LARGEST_KUBECONFIG, read_text};
use kube::config::Kubeconfig;

use super::Found;

/// Reads the clusters. A file that is not there yet has none.
pub(super) fn read(path: &Path) -> Result<Vec<Found>, String> {
    let text = match read_text(path, LARGEST_KUBECONFIG) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // Its own message may quote what it could not read.
    let kubeconfig =
        Kubeconfig::from_yaml(&text).map_err(|_| format!("{} is no kubeconfig", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let clusters = kubeconfig.clusters.into_iter().map(|named| Found {
        object: format!("cluster {} of {file}", named.name),
        texts: named
            .cluster
            .and_then(|cluster| cluster.server)
            .into_iter()
            .chain([named.name])
            .collect(),
    });
    Ok(clusters.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn clusters_are_read_and_users_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kubeconfig");
        assert!(read(&path).expect("nothing").is_empty());
        let text = "clusters: [{name: a, cluster: {server: 'https://a:6443'}}]\nusers: [{name: u, user: {token: hunter2}}]";
        fs::write(&path, text).expect("written");
        let found = read(&path).expect("clusters");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].texts, ["https://a:6443", "a"]);
        fs::write(&path, "users: hunter2").expect("written");
        let error = read(&path).err().expect("a flaw");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
