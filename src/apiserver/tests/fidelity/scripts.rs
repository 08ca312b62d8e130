//! Reads the scripts in a folder, the definitions that they use, and the list of known differences in that folder.

use std::{fs, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// The files of a folder: name, text, and content. The list of divergences is not among them.
pub fn read_all<T: DeserializeOwned>(folder: &Path) -> Vec<(String, String, T)> {
    let mut scripts: Vec<(String, String, T)> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "divergences"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a script is readable");
            let options = serde_saphyr::options! { strict_booleans: true };
            let content = serde_saphyr::from_str_with_options(&text, options)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.file_stem().expect("a script has a name");
            (name.to_string_lossy().into_owned(), text, content)
        })
        .collect();
    scripts.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    scripts
}

/// The CRDs that scripts and controllers use.
pub fn definitions() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/crds");
    let definitions = read_all(&folder).into_iter();
    definitions.map(|(_, _, definition)| definition).collect()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    reason: String,
    /// Set if this server accepts what a real API server refuses.
    pub accepts: Option<Accepted>,
    /// Where it occurs. Each place has to differ, or the entry is no longer true.
    pub places: Vec<Spot>,
}

/// The only subjects in which this server may accept what a real API server refuses.
#[derive(Clone, Copy, Debug, Deserialize)]
pub enum Accepted {
    #[serde(rename = "CEL types and costs")]
    CelTypesAndCosts,
    #[serde(rename = "built-in kinds")]
    BuiltInKinds,
    #[serde(rename = "RBAC escalation")]
    RbacEscalation,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    pub script: String,
    /// Names of steps, or the commands themselves.
    #[serde(alias = "commands")]
    pub steps: Vec<String>,
    /// JSON pointers into the answers to requests. Values below them may differ, too.
    #[serde(default)]
    pub paths: Vec<String>,
    /// A pattern for the lines of commands' output to ignore. Without one, the whole output and the exit code are ignored.
    pub lines: Option<String>,
}

/// Reads the list in `folder`. `names` returns the steps of a script, none if there is no such script.
///
/// # Panics
/// When an entry has no reason or no place, or names an unknown step.
pub fn read_divergences<'s>(folder: &Path, names: impl Fn(&str) -> Vec<&'s str>) -> Vec<Divergence> {
    let path = folder.join("divergences.yaml");
    let text = fs::read_to_string(&path).expect("the list of divergences");
    let entries: Vec<Divergence> =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for entry in &entries {
        assert!(!entry.reason.is_empty() && !entry.places.is_empty(), "{entry:?}");
        for place in &entry.places {
            let (script, known) = (&place.script, names(&place.script));
            let unknown = place.steps.iter().find(|step| !known.contains(&step.as_str()));
            assert_eq!(unknown, None, "{}: unknown step of {script}", path.display());
        }
    }
    entries
}
