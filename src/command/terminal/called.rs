//! How the user called the command: by its name, or as a plugin of kubectl.

use std::{env, ffi::OsStr, path::Path, sync::LazyLock};

use report::COMMAND;

/// kubectl runs `kubectl x-y` as a program of this prefix, `kubectl-x_y`.
const PLUGIN: &str = "kubectl-";

/// Returns the command as the user types it, so that examples and advice can be copied.
pub fn called() -> &'static str {
    static CALLED: LazyLock<String> = LazyLock::new(|| typed(env::args_os().next().as_deref()));
    &CALLED
}

/// What the user types to run a program of this name.
fn typed(program: Option<&OsStr>) -> String {
    let stem = program
        .map(Path::new)
        .and_then(Path::file_stem)
        .and_then(OsStr::to_str);
    match stem.and_then(|stem| stem.strip_prefix(PLUGIN)) {
        // Dashes separate kubectl's subcommands, so a dash in a plugin's name is an underscore in its file's.
        Some(plugin) => format!("kubectl {}", plugin.replace('-', " ").replace('_', "-")),
        None => COMMAND.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_typed_after_kubectl() {
        for (program, expected) in [
            ("clusterprofile-conformance", COMMAND),
            ("/usr/bin/clusterprofile-conformance", COMMAND),
            ("renamed", COMMAND),
            ("kubectl", COMMAND),
            (
                "/root/.krew/bin/kubectl-clusterprofile_conformance",
                "kubectl clusterprofile-conformance",
            ),
            (
                "kubectl-clusterprofile_conformance.exe",
                "kubectl clusterprofile-conformance",
            ),
            ("kubectl-fleet-judge_all", "kubectl fleet judge-all"),
        ] {
            assert_eq!(typed(Some(OsStr::new(program))), expected, "{program}");
        }
        assert_eq!(typed(None), COMMAND);
    }
}
