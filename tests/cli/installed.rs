//! An installed copy: manual pages, and the kubectl plugin.

use super::*;

const PLUGIN: &str = "kubectl clusterprofile-conformance";

#[test]
fn every_subcommand_has_a_manual_page() {
    let folder = Folder::new();
    let pages = folder.flag("share/man/man1");
    expect(0, &["man", &pages]);
    for name in ["", "-run", "-man", "-report-verify"] {
        let path = Path::new(&pages).join(format!("clusterprofile-conformance{name}.1"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"),
            "{page}"
        );
    }
}

#[test]
fn a_folder_for_manual_pages_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    fs::write(folder.path("file"), "").expect("a file");
    let inside = folder.flag("file/man1");
    let told = expect(4, &["man", &inside]);
    assert!(
        told.starts_with(&format!("error: failed to write manual pages into {inside}")),
        "{told}"
    );
}

/// The command as krew installs it: a link of the plugin's name to the binary.
#[cfg(unix)]
fn plugin(folder: &Folder, arguments: &[&str]) -> Done {
    let link = folder.path("kubectl-clusterprofile_conformance");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_clusterprofile-conformance"), &link).expect("a link");
    }
    let known = command(arguments);
    let mut command = Command::new(link);
    command
        .args(known.get_args())
        .current_dir(known.get_current_dir().expect("a folder"))
        .envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST");
    let done = command.stdin(Stdio::null()).output().expect("the command runs");
    Done {
        code: done.status.code(),
        out: String::from_utf8(done.stdout).expect("UTF-8"),
        err: String::from_utf8(done.stderr).expect("UTF-8"),
    }
}

#[cfg(unix)]
#[test]
fn as_a_plugin_usage_and_advice_can_be_copied() {
    let folder = Folder::new();
    let help = plugin(&folder, &["--help"]);
    assert!(
        help.out.contains(&format!("Usage: {PLUGIN} [OPTIONS] <COMMAND>")),
        "{}",
        help.out
    );
    let help = plugin(&folder, &["run", "--help"]);
    assert!(
        help.out.contains(&format!("    {PLUGIN} run --hub lab")),
        "{}",
        help.out
    );
    let wrong = plugin(&folder, &["run", "--no-such-flag"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains(&format!("Usage: {PLUGIN} run")),
        "{}",
        wrong.err
    );

    let judged = plugin(&folder, &["run", "--from", "violating.yaml"]);
    assert_eq!(judged.code, Some(1), "{}", judged.err);
    let explained = judged
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("  explain   "));
    let explained: Vec<&str> = explained.collect();
    assert!(!explained.is_empty(), "{}", judged.out);
    for line in explained {
        assert!(line.starts_with(&format!("{PLUGIN} explain ")), "{line}");
    }
}
