//! Waivers, and what is told of them.

use super::*;

const RULE: &str = "identity/manager-label-matches";

impl Folder {
    /// Waivers of that rule, each with these fields besides.
    fn waivers(&self, each: &[&str]) -> String {
        let one = |rest: &&str| {
            format!("- {{rule: {RULE}, reason: old profiles, link: 'https://issues.example/1', {rest}}}\n")
        };
        let list: String = each.iter().map(one).collect();
        fs::write(self.path("waivers.yaml"), format!("waivers:\n{list}")).expect("written");
        self.flag("waivers.yaml")
    }
}

#[test]
fn what_is_waived_is_told_as_waived_and_never_as_passed() {
    let folder = Folder::new();
    let waivers = folder.waivers(&["object: fleet/hangar-east, expires: 2999-01-01"]);
    let (json, junit, record) = (
        folder.flag("report.json"),
        folder.flag("report.xml"),
        folder.flag("evidence.jsonl"),
    );
    let run = ["run", "--from", "violating.yaml", "--exact", RULE];
    expect(1, &[&run[..], &["--record", &record]].concat());
    let told = [
        &["--waivers", &*waivers, "--json", &json, "--junit", &junit],
        &["--verbose", "--exact", RULE][..],
    ]
    .concat();
    for judge in [&["run", "--from", "violating.yaml"][..], &["replay", &record]] {
        let told = expect(0, &[judge, &told].concat()).replace("\n  ", " ");
        assert!(told.contains("judged, edition standard, 1 rule waived"), "{told}");
        assert!(told.contains("old profiles (https://issues.example/1)"), "{told}");
        assert!(told.contains("... waived: 1"), "{told}");
        let report = folder.json("report.json");
        let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
        let verdict = verdicts.find(|verdict| verdict["rule"] == RULE).expect("judged");
        assert_eq!(verdict["verdict"], "waived");
        assert_eq!(verdict["waived"][0]["object"]["name"], "hangar-east");
        assert_eq!(verdict["waived"][0]["waiver"], 0);
        assert_eq!(report["tally"]["must"]["passed"], 0);
        assert_eq!(report["waivers"][0]["waived"], 1);
        assert_eq!(report["waivers"][0]["complaint"], Value::Null);
        assert!(
            folder.text("report.xml").contains("<skipped type=\"waived\""),
            "{}",
            folder.text("report.xml")
        );
    }
    // What the dump does not have, no waiver makes up for.
    expect(1, &["run", "--from", "violating.yaml", "--waivers", &waivers]);
}

#[test]
fn a_waiver_that_does_nothing_is_told_and_counts_under_strict() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let run = [
        "run",
        "--from",
        "violating.yaml",
        "--exact",
        RULE,
        "--json",
        &json,
        "--junit",
        &junit,
    ];
    let with = |waivers: &str, more: &[&str]| {
        let waivers = folder.waivers(&waivers.split(';').collect::<Vec<_>>());
        let done = call(&[&run[..], more, &["--waivers", &waivers]].concat());
        (
            done.code,
            (done.out + &done.err)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    let (code, told) = with("expires: 2020-01-01", &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("has expired on 2020-01-01"), "{told}");

    let idle = "expires: 2999-01-01;object: fleet/gone, expires: 2999-01-01";
    let (code, told) = with(idle, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("waives nothing: remove it, or correct its object `fleet/gone`"),
        "{told}"
    );
    let complaint = folder.json("report.json")["waivers"][1]["complaint"].clone();
    assert!(
        complaint.as_str().is_some_and(|told| told.contains("fleet/gone")),
        "{complaint}"
    );
    let (code, told) = with(idle, &["--strict"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("not conformant: a waiver has expired or waives nothing (strict)"),
        "{told}"
    );

    // Whoever did not look cannot say that there is nothing.
    let unseen = folder.waivers(&["expires: 2999-01-01"]);
    let others = [
        "run",
        "--from",
        "conforming.yaml",
        "--strict",
        "--waivers",
        &unseen,
    ];
    let told = expect(0, &[&others[..], &["identity/manager-label-present"]].concat());
    assert!(!told.contains("waivers needing attention"), "{told}");
    let told = expect(1, &[&others[..], &["--exact", RULE]].concat());
    assert!(told.contains("waivers needing attention"), "{told}");
}

#[test]
fn waivers_that_cannot_be_are_refused_before_a_run_takes_its_time() {
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(1);
    let refused = |waivers: &str, told: &[&str]| {
        refused(&["run", "--kubeconfig", &kubeconfig, "--waivers", waivers], told);
        refused(&["replay", "missing.jsonl", "--waivers", waivers], told);
    };
    refused("missing.yaml", &["failed to read the waivers missing.yaml"]);
    refused("-", &["name a file"]);
    refused(
        &folder.waivers(&["expires: 2999-01-01, until: now"]),
        &["waivers.yaml cannot be used: line 2", "unknown key `until`"],
    );
    refused(
        &folder.waivers(&["expires: soon"]),
        &["line 2", "write it like 2027-03-31"],
    );
    refused(
        &folder.waivers(&["expires: 2999-01-01", "expires: 2998-01-01"]),
        &["line 3: waiver 2: it is for the same violations as waiver 1"],
    );
    let good = folder.waivers(&["expires: 2999-01-01"]);
    let slip = fs::read_to_string(&good)
        .expect("the file is there")
        .replace("matches", "matchs");
    fs::write(&good, slip).expect("written");
    refused(
        &good,
        &[
            "line 2: waiver 1",
            "did you mean `identity/manager-label-matches`?",
        ],
    );

    // A run that could not be says nothing of waivers.
    let good = folder.waivers(&["expires: 2999-01-01"]);
    let json = folder.flag("report.json");
    let run = ["run", "--kubeconfig", &kubeconfig, "--waivers", &good];
    let told = expect(4, &[&run[..], &["--json", &json]].concat());
    assert!(!told.contains("waive"), "{told}");
    assert_eq!(folder.json("report.json")["waivers"], Value::Null);
    super::refused(
        &[&run[..], &["--json", &good]].concat(),
        &["is both an input and an output"],
    );
}

/// Both APIs or one: a waiver is told alike.
#[test]
fn a_waiver_that_does_nothing_is_told_of_each_api() {
    let folder = Folder::new();
    let waivers = folder.flag("waivers.yaml");
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--strict",
        "--driver",
        "none",
        "--waivers",
        &waivers,
    ];
    for rule in ["version/well-formed", "placement-slices/decisions-present"] {
        let waiver =
            format!("{{rule: {rule}, reason: r, link: 'https://issues.example/1', expires: 2999-01-01}}");
        fs::write(&waivers, format!("waivers: [{waiver}]")).expect("written");
        let told = expect(1, &[&lab[..], &["--role", "manager,scheduler"]].concat());
        assert!(
            told.contains(&format!("the waiver of {rule} waives nothing")),
            "{told}"
        );
    }
    // Its rule is not of an edition that is judged.
    let told = expect(0, &[&lab[..], &["--exact", "version/well-formed"]].concat());
    let note = "edition standard does not have: placement-slices/decisions-present";
    assert!(told.contains(note), "{told}");
}
