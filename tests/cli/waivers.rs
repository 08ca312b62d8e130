//! Waivers, and how they are reported.

use super::*;

const RULE: &str = "identity/manager-label-matches";

impl Folder {
    /// Waivers of that rule, each with these fields besides.
    fn waivers(&self, each: &[&str]) -> String {
        let one = |rest: &&str| {
            format!("- {{rule: {RULE}, reason: old profiles, link: 'https://issues.example/1', {rest}}}\n")
        };
        let list: String = each.iter().map(one).collect();
        self.write("waivers.yaml", format!("waivers:\n{list}"))
    }
}

#[test]
fn what_is_waived_is_told_as_waived_and_never_as_passed() {
    let folder = Folder::new();
    let waivers = folder.waivers(&["object: fleet/hangar-east, expires: 2999-01-01"]);
    let [json, junit, record] = ["report.json", "report.xml", "evidence.jsonl"].map(|name| folder.flag(name));
    let run = format!("run --from violating.yaml --exact {RULE}");
    expect(1, format!("{run} --record {record}"));
    for judge in ["run --from violating.yaml", &format!("replay {record}")] {
        let outputs = format!("--json {json} --junit {junit}");
        let printed = expect(
            0,
            format!("{judge} --verbose --waivers {waivers} --exact {RULE} {outputs}"),
        )
        .replace("\n  ", " ");
        assert_contains(
            &printed,
            &[
                "judged, edition standard, 1 rule waived",
                "old profiles (https://issues.example/1)",
                "... waived: 1",
            ],
        );
        let report = folder.json("report.json");
        let verdict = verdict_of(&report, RULE);
        assert_eq!(verdict["verdict"], "waived");
        assert_eq!(verdict["waived"][0]["object"]["name"], "hangar-east");
        assert_eq!(verdict["waived"][0]["waiver"], 0);
        assert_eq!(report["tally"]["must"]["passed"], 0);
        assert_eq!(report["waivers"][0]["waived"], 1);
        assert_eq!(report["waivers"][0]["complaint"], Value::Null);
        assert_contains(&folder.text("report.xml"), &["<skipped type=\"waived\""]);
    }
    // What the dump does not have, no waiver makes up for.
    expect(1, format!("run --from violating.yaml --waivers {waivers}"));
}

#[test]
fn a_waiver_that_does_nothing_is_told_and_counts_under_strict() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let run = format!("run --from violating.yaml --exact {RULE} --json {json}");
    let expired = folder.waivers(&["expires: 2020-01-01"]);
    let printed = unwrapped(&expect(1, format!("{run} --waivers {expired}")));
    assert_contains(&printed, &["has expired on 2020-01-01"]);

    let idle = folder.waivers(&["expires: 2999-01-01", "object: fleet/gone, expires: 2999-01-01"]);
    let printed = unwrapped(&expect(0, format!("{run} --waivers {idle}")));
    assert_contains(
        &printed,
        &["waives nothing: remove it, or correct its object `fleet/gone`"],
    );
    let complaint = folder.json("report.json")["waivers"][1]["complaint"].to_string();
    assert_contains(&complaint, &["fleet/gone"]);
    let printed = unwrapped(&expect(1, format!("{run} --strict --waivers {idle}")));
    assert_contains(
        &printed,
        &["not conformant: a waiver has expired or waives nothing (strict)"],
    );

    // A run that does not judge the rule cannot say that the waiver waives nothing.
    let unseen = folder.waivers(&["expires: 2999-01-01"]);
    let others = format!("run --from conforming.yaml --strict --waivers {unseen}");
    let printed = expect(0, format!("{others} identity/manager-label-present"));
    assert!(!printed.contains("waivers needing attention"), "{printed}");
    let printed = expect(1, format!("{others} --exact {RULE}"));
    assert!(printed.contains("waivers needing attention"), "{printed}");
}

#[test]
fn waivers_that_cannot_be_are_refused_before_a_run_takes_its_time() {
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(1);
    let refused = |waivers: &str, messages: &[&str]| {
        refused(
            format!("run --kubeconfig {kubeconfig} --waivers {waivers}"),
            messages,
        );
        refused(format!("replay missing.jsonl --waivers {waivers}"), messages);
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
    folder.edit("waivers.yaml", "matches", "matchs");
    refused(
        &good,
        &[
            "line 2: waiver 1",
            "did you mean `identity/manager-label-matches`?",
        ],
    );

    // The report of a run that failed has no waivers.
    let good = folder.waivers(&["expires: 2999-01-01"]);
    let json = folder.flag("report.json");
    let run = format!("run --kubeconfig {kubeconfig} --waivers {good}");
    let printed = expect(4, format!("{run} --json {json}"));
    assert!(!printed.contains("waive"), "{printed}");
    assert_eq!(folder.json("report.json")["waivers"], Value::Null);
    super::refused(
        format!("{run} --json {good}"),
        &["is both an input and an output"],
    );
}

/// A waiver is reported in the same way with one role and with two.
#[test]
fn a_waiver_that_does_nothing_is_told_of_each_api() {
    let folder = Folder::new();
    let waivers = folder.flag("waivers.yaml");
    let lab = format!("run --hub lab --manager reference --strict --driver none --waivers {waivers}");
    for rule in ["version/well-formed", "placement-slices/decisions-present"] {
        let waiver =
            format!("{{rule: {rule}, reason: r, link: 'https://issues.example/1', expires: 2999-01-01}}");
        folder.write("waivers.yaml", format!("waivers: [{waiver}]"));
        let printed = expect(1, format!("{lab} --role manager,scheduler"));
        assert!(
            printed.contains(&format!("the waiver of {rule} waives nothing")),
            "{printed}"
        );
    }
    // Its rule is not of an edition that is judged.
    let printed = expect(0, format!("{lab} --exact version/well-formed"));
    let note = "edition standard does not have: placement-slices/decisions-present";
    assert!(printed.contains(note), "{printed}");
}
