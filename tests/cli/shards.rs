//! A fleet in shares: runs of each, and what is made of their evidence.

use std::collections::BTreeMap;

use super::*;

/// A run over share I of N of the lab, whose two namespaces with profiles fall to shares 0 and 1 of 3.
fn share(folder: &Folder, shard: &str, name: &str, more: &[&str]) -> String {
    let record = folder.flag(name);
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    let own = ["--shard", shard, "--record", &record];
    expect(0, &[&lab[..], &own, more].concat())
}

/// The verdict on each rule, and its findings.
fn verdicts(report: &Value) -> BTreeMap<String, String> {
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    verdicts
        .map(|verdict| {
            let told = format!("{} {}", verdict["verdict"], verdict["findings"]);
            (verdict["rule"].to_string(), told)
        })
        .collect()
}

#[test]
fn a_share_that_does_not_exist_is_bad_usage() {
    let run = |shard: &str, told: &str| {
        refused(
            &["run", "--hub", "lab", "--manager", "reference", "--shard", shard],
            &[told],
        );
    };
    run("3/2", "the last one is 1/2");
    run("2/2", "the last one is 1/2");
    run("0/0", "there is no share of 0");
    for shard in ["a/b", "3", "1/", "/3", "one/3"] {
        run(shard, "such as 0/8");
    }
    run("auto/3", "JOB_COMPLETION_INDEX is not set");
    let driven = ["--driver", "reference", "--shard", "0/3"];
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    refused(&[&lab[..], &driven].concat(), &["cannot be used with '--shard"]);
    refused(
        &["run", "--from", "conforming.yaml", "--shard", "0/3"],
        &["--shard"],
    );
}

#[test]
fn the_index_of_a_pod_picks_its_share() {
    let run = |index: &str| {
        let lab = ["run", "--hub", "lab", "--manager", "reference"];
        let mut command = command(&[&lab[..], &["--shard", "auto/3"]].concat());
        let output = command
            .env("JOB_COMPLETION_INDEX", index)
            .output()
            .expect("it runs");
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).expect("UTF-8"))
    };
    let (code, told) = run("1");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("no violation found in share 1/3"), "{told}");
    for (index, expected) in [
        (
            "3",
            "JOB_COMPLETION_INDEX is 3, and of 3 shares the last one is 2",
        ),
        ("one", "JOB_COMPLETION_INDEX is `one`"),
    ] {
        let (code, told) = run(index);
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_share_says_that_it_is_one() {
    let folder = Folder::new();
    let (badge, report) = (folder.flag("badge.svg"), folder.flag("report.yaml"));
    let told = share(
        &folder,
        "0/3",
        "0.jsonl",
        &["--badge", &badge, "--report", &report],
    );
    let told: Vec<&str> = told.split_whitespace().collect();
    let told = told.join(" ");
    assert!(
        told.contains("no violation found in share 0/3: ")
            && told.contains(" MUST rules judged, edition standard; the merged shares decide; "),
        "{told}"
    );
    assert!(told.contains("in share 0/3 only: lab-clusterset"), "{told}");
    assert!(!told.contains("conformant with"), "{told}");
    let badge = folder.text("badge.svg");
    assert!(
        badge.contains(" MUST rules judged (standard, share 0/3)"),
        "{badge}"
    );
    let verified = expect(0, &["report", "verify", &report, &folder.flag("0.jsonl")]);
    assert!(
        verified.contains("judges share 0/3 of the fleet alone"),
        "{verified}"
    );
    // Two reports, so that they are merged at all.
    let other = folder.flag("other.yaml");
    fs::write(
        &other,
        folder.text("report.yaml").replace("profiles: ", "profiles: 1"),
    )
    .expect("written");
    refused(
        &["report", "merge", &report, &other],
        &["merge the evidence of all shares"],
    );

    let empty = share(&folder, "2/3", "2.jsonl", &[]);
    assert!(empty.contains("no profile in share 2/3"), "{empty}");
}

#[test]
fn merged_shares_are_judged_as_one_run() {
    let folder = Folder::new();
    fs::create_dir(folder.path("shares")).expect("a folder");
    for index in 0..3 {
        share(
            &folder,
            &format!("{index}/3"),
            &format!("shares/{index}.jsonl.zst"),
            &[],
        );
    }
    let (shares, merged) = (folder.flag("shares"), folder.flag("merged.jsonl.zst"));
    expect(0, &["report", "merge", &shares, "--output", &merged]);
    let json = |name: &str, arguments: &[&str]| {
        expect(0, &[arguments, &["--json", &folder.flag(name)]].concat());
        folder.json(name)
    };
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    // Shares are not driven.
    let whole = json("whole.json", &[&lab[..], &["--driver", "none"]].concat());
    for replayed in [
        json("merged.json", &["replay", &merged]),
        json("folder.json", &["replay", &shares]),
    ] {
        assert_eq!(replayed["decision"], whole["decision"]);
        assert_eq!(replayed["profiles"], whole["profiles"]);
        assert_eq!(verdicts(&replayed), verdicts(&whole));
    }

    // One share is missing.
    let share = |index: usize| folder.flag(&format!("shares/{index}.jsonl.zst"));
    let without = expect(3, &["run", "--from", &share(0), "--from", &share(2)]);
    assert!(
        without.contains("shares are missing, so that rules are inconclusive: 1/3"),
        "{without}"
    );
    // Files that do not belong together.
    refused(
        &[
            "report",
            "merge",
            &share(0),
            &share(0),
            "--output",
            &folder.flag("none.jsonl"),
        ],
        &["are both share 0/3"],
    );
    refused(&["report", "merge", &merged, &share(0)], &["is merged already"]);
    refused(
        &[
            "report",
            "merge",
            &share(0),
            &share(1),
            "--report-format",
            "sig-multicluster",
        ],
        &["--report-format is for reports"],
    );
    refused(
        &["report", "merge", &share(0), &share(1), "--output", &share(1)],
        &["is both an input and an output"],
    );
    refused(
        &["run", "--from", &share(0), "--from", "conforming.yaml"],
        &["is no share of a fleet"],
    );
    let other = folder.flag("shares/other.jsonl");
    expect(
        0,
        &[
            &lab[..],
            &["--edition", "2026-07", "--shard", "1/3", "--record", &other],
        ]
        .concat(),
    );
    fs::remove_file(share(1)).expect("removed");
    refused(&["replay", &shares], &["the edition differs"]);
}

#[test]
fn shares_of_placements_are_judged_as_one_run() {
    let folder = Folder::new();
    fs::create_dir(folder.path("shares")).expect("a folder");
    let of_scheduler = ["--role", "scheduler"];
    for index in 0..3 {
        let name = format!("shares/{index}.jsonl.zst");
        let told = share(&folder, &format!("{index}/3"), &name, &of_scheduler);
        // The slices of the lab are in one namespace.
        let is_empty = told.contains(&format!("no placement decision in share {index}/3"));
        assert_eq!(is_empty, index != 2, "{told}");
    }
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--driver",
        "none",
    ];
    let json = |name: &str, arguments: &[&str]| {
        expect(0, &[arguments, &["--json", &folder.flag(name)]].concat());
        folder.json(name)
    };
    let whole = json("whole.json", &[&lab[..], &of_scheduler].concat());
    let merged = json("merged.json", &["replay", &folder.flag("shares")]);
    // Each share is of a lab of its own, so references lead into other times.
    let apart = |report: &Value| {
        let mut verdicts = verdicts(report);
        verdicts.retain(|rule, _| !rule.contains("placement-references/"));
        verdicts
    };
    assert_eq!(apart(&merged), apart(&whole));
}
