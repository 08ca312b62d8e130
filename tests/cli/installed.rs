//! What an installed copy is to its surroundings: manual pages, and a plugin of kubectl.

use std::collections::BTreeMap;

use super::*;

const PLUGIN: &str = "kubectl clusterprofile-conformance";

/// The files of a folder, by name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let named = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        (name.to_owned(), fs::read_to_string(&path).expect("a text"))
    });
    named.collect()
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let folder = Folder::new();
    let pages = folder.flag("share/man/man1");
    expect(0, &["man", &pages]);
    let pages = files(Path::new(&pages));
    let help = expect(0, &["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let subcommands: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(
        subcommands.contains(&"run") && subcommands.contains(&"man"),
        "{help}"
    );
    for subcommand in subcommands {
        let name = format!("clusterprofile-conformance-{subcommand}.1");
        let page = pages
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is not in {:?}", pages.keys()));
        let heading = format!(".TH clusterprofile-conformance-{subcommand} 1  \"clusterprofile-conformance ");
        assert!(page.contains(&heading), "{page}");
        assert!(page.contains("\n.nh\n.ad l\n.SH NAME\n"), "{page}");
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"),
            "{page}"
        );
    }
    assert!(pages["clusterprofile-conformance-run.1"].contains("\\-\\-observe"));
    assert!(pages["clusterprofile-conformance.1"].contains("Exit codes:"));
    assert!(
        pages.contains_key("clusterprofile-conformance-report-verify.1"),
        "{:?}",
        pages.keys()
    );
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

    let judged = plugin(
        &folder,
        &[
            "run",
            "--from",
            "violating.yaml",
            "--json",
            &folder.flag("plugin.json"),
        ],
    );
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

    // A file goes to others, who may call the suite by its name.
    let plain = folder.flag("plain.json");
    let by_name = expect(1, &["run", "--from", "violating.yaml", "--json", &plain]);
    assert!(
        by_name.contains("  explain   clusterprofile-conformance explain "),
        "{by_name}"
    );
    let report = |name: &str| {
        let mut report = folder.json(name);
        report["judgedAt"] = Value::Null;
        report
    };
    assert_eq!(report("plugin.json"), report("plain.json"));
}
