//! Waivers, and how they are reported.

use super::*;

const RULE: &str = "identity/manager-label-matches";

impl Folder {
    /// Waivers of these rules, each with further fields.
    pub fn waivers(&self, each: &[(&str, &str)]) -> String {
        let one = |(rule, fields): &(&str, &str)| {
            format!("- {{rule: {rule}, reason: old profiles, link: 'https://issues.example/1', {fields}}}\n")
        };
        let list: String = each.iter().map(one).collect();
        self.write("waivers.yaml", format!("waivers:\n{list}"))
    }
}

#[test]
fn waived_violations_are_reported_as_waived_and_never_as_passed() {
    let folder = Folder::new();
    let waivers = folder.waivers(&[(RULE, "object: fleet/hangar-east, expires: 2999-01-01")]);
    let [json, junit, record] = ["report.json", "report.xml", "evidence.jsonl"].map(|name| folder.flag(name));
    let run = format!("run --from violating.yaml --exact {RULE} --record {record}");
    expect(1, run);
    for judge in ["run --from violating.yaml", &format!("replay {record}")] {
        let flags = format!("--verbose --waivers {waivers} --exact {RULE} --json {json} --junit {junit}");
        let reason = "old profiles (https://issues.example/1)";
        let parts = ["edition standard, 1 rule waived", reason, "... waived: 1"];
        expect_output(0, format!("{judge} {flags}"), &parts);
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
    // A waiver does not replace missing evidence.
    expect(1, format!("run --from violating.yaml --waivers {waivers}"));
}

#[test]
fn idle_waiver_is_reported_and_fails_under_strict() {
    let folder = Folder::new();
    let gone = "object: fleet/gone, expires: 2999-01-01";
    let idle = folder.waivers(&[(RULE, "expires: 2999-01-01"), (RULE, gone)]);
    let run = format!("run --from violating.yaml --exact {RULE} --waivers {idle}");
    let complaint = "waives nothing: remove it, or correct its object `fleet/gone`";
    expect_output(0, &run, &[complaint]);
    let decision = "not conformant: a waiver has expired or waives nothing (strict)";
    expect_output(1, format!("{run} --strict"), &[decision]);
}

#[test]
fn invalid_waivers_are_refused_before_the_run() {
    let folder = Folder::new();
    let run = "run --kubeconfig unreachable.kubeconfig --waivers";
    let waivers = folder.waivers(&[(RULE, "expires: 2999-01-01, until: now")]);
    for line in [
        format!("{run} {waivers}"),
        format!("replay missing.jsonl --waivers {waivers}"),
    ] {
        refused(line, &["line 2", "unknown key `until`"]);
    }
    // The report of a run that failed has no waivers.
    let waivers = folder.waivers(&[(RULE, "expires: 2999-01-01")]);
    let json = folder.flag("report.json");
    let printed = expect(4, format!("{run} {waivers} --json {json}"));
    assert!(!printed.contains("waive"), "{printed}");
    assert_eq!(folder.json("report.json")["waivers"], Value::Null);
}

/// A waiver is reported in the same way with one role and with two.
#[test]
fn idle_waiver_is_reported_for_each_api() {
    let folder = Folder::new();
    let waivers = folder.flag("waivers.yaml");
    let lab =
        format!("run --hub lab --manager reference --observe 1m --strict --driver none --waivers {waivers}");
    for rule in ["version/well-formed", "placement-slices/decisions-present"] {
        folder.waivers(&[(rule, "expires: 2999-01-01")]);
        let complaint = format!("the waiver of {rule} waives nothing");
        expect_output(1, format!("{lab} --role manager,scheduler"), &[&complaint]);
    }
    // Its rule is not of an edition that is judged.
    let note = "edition standard does not have: placement-slices/decisions-present";
    expect_output(0, format!("{lab} --exact version/well-formed"), &[note]);
}
