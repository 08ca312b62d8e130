use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::*;

#[test]
fn the_yaml_reads_back_as_the_same_definition() {
    for definition in all() {
        let yaml = to_yaml(&definition);
        let read: CustomResourceDefinition = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(read, definition);
    }
}

/// YAML 1.1 parsers, such as kubectl's, read a bare `True` as a boolean.
#[test]
fn the_yaml_quotes_what_older_readers_would_take_for_booleans() {
    let yaml = to_yaml(&cluster_profile());
    for word in ["True", "False"] {
        assert!(
            !yaml.lines().any(|line| line.trim() == format!("- {word}")),
            "{word} is not quoted"
        );
    }
}

#[test]
fn the_fixtures_are_fresh() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
    for definition in all() {
        let file = folder.join(format!("{}.yaml", definition.metadata.name.as_deref().unwrap()));
        let generated = to_yaml(&definition);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &generated).unwrap();
        }
        let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            checked_in == generated,
            "{} is stale: renew it with `just crds` (UPDATE=1 cargo test -p clusterprofile-lab --lib crd)",
            file.display()
        );
    }
}
