//! What an installed copy is to its surroundings: manual pages.

use std::collections::BTreeMap;

use super::*;

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
