//! The scope of a run: names that the hub does not have, and the decision of a narrowed run.

use super::{on_the_lab::header_of, *};

const LAB: &str = "run --hub lab --manager reference";

/// Flags of a run, and parts of the message.
const WITHOUT_OBJECTS: &str = "
-n nope | no ClusterProfile in namespace nope
--cluster-manager nope | no ClusterProfile of manager nope
-n lab-fleet --cluster-manager nope | of manager nope in namespace lab-fleet
--role scheduler --scheduler nope | no PlacementDecision of scheduler nope
--role manager,scheduler -n nope | in namespace nope
-n lab-fleet -n nope -n lab-flet | no ClusterProfile in namespaces nope, lab-flet;
--role manager,scheduler -n lab-fleet -n nope | in namespace nope;
";

#[test]
fn scope_without_objects_is_refused() {
    for row in table(WITHOUT_OBJECTS) {
        refused(format!("{LAB} {}", row[0]), &[row[1], "--wait"]);
    }
    expect_output(3, format!("{LAB} -n nope --wait"), &["; 0 profiles"]);
}

#[test]
fn evidence_keeps_agents_and_the_expected_number_of_profiles() {
    let folder = Folder::new();
    let (record, again) = (folder.flag("evidence.jsonl"), folder.flag("again.jsonl"));
    let flags = "--cluster-manager-agent hub --cluster-manager-agent agent --expect-profiles 3";
    call(format!("run --from conforming.yaml {flags} --record {record}"));
    // A replay keeps what was recorded, and its own flags win.
    let replay = format!("replay {record} --cluster-manager-agent hub --record {again}");
    call(replay);
    for (file, agents) in [
        ("evidence.jsonl", json!(["hub", "agent"])),
        ("again.jsonl", json!(["hub"])),
    ] {
        let header = header_of(&folder.text(file));
        assert_eq!(header["claim"]["clusterManager"]["agents"], agents);
        assert_eq!(header["claim"]["expectedProfiles"], 3);
    }
}

#[test]
fn configuration_serves_runs_of_either_role() {
    let folder = Folder::new();
    let config = folder.config("schedulerUser: reader");
    let run = format!("{LAB} --observe 1m --config {config} --driver none version/");
    let parts = ["ignoring `schedulerUser` of", "only to --role scheduler"];
    expect_output(0, &run, &parts);
    folder.config("schedulerUser: reader\nrole: [manager, scheduler]");
    let report = folder.flag("report.json");
    // No rule of the scheduler is selected.
    expect(3, format!("{run} --json {report}"));
    assert_eq!(
        folder.json("report.json")["roles"],
        json!(["manager", "scheduler"])
    );
}

#[test]
fn narrowed_run_is_never_conformant() {
    let folder = Folder::new();
    let run = "run --from conforming.yaml version/";
    let formats = report::FileFormat::ALL.map(report::FileFormat::name).into_iter();
    let names: Vec<&str> = formats.filter(|name| *name != "record").collect();
    let flags = names
        .iter()
        .map(|name| format!(" --{name} {}", folder.flag(name)));
    let run_with_reports = format!("{run}{}", flags.collect::<String>());
    let parts = ["to check the rest, add ", "were not selected"];
    let printed = expect_output(0, run_with_reports, &parts);
    let (_, decision) = printed.split_once("no violation found: ").expect("a decision");
    let (judged, _) = decision.split_once(" MUST rules judged").expect("numbers");
    assert_eq!(folder.json("json")["decision"], "no-violation");
    assert!(folder.text("badge").contains(&judged.replace(" of ", "/")));
    assert_eq!(call(format!("{run} --complete")).code, Some(3));
    for name in names {
        let text = folder.text(name).replace("ClusterProfile conformance", "");
        for claim in ["conformant with", ">conformant<", ": conformant"] {
            assert!(!text.contains(claim), "{name}: {text}");
        }
    }
    // A filter that matches all rules does not narrow a run.
    assert!(!expect(0, "run --from conforming.yaml /").contains("were not selected"));
}

/// The violation may be in another namespace.
#[test]
fn run_of_some_namespaces_is_never_conformant() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let lab = "run --hub lab --manager reference=identity/name-unique --driver none --observe 1m";
    expect(1, lab);
    let one = format!("{lab} -n lab-fleet --json {json}");
    expect_output(0, &one, &["no violation found: ", "all namespaces"]);
    assert_eq!(folder.json("report.json")["whole"], false);
    assert_eq!(call(format!("{one} --complete")).code, Some(3));
}
