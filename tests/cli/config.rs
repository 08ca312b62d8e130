//! The configuration file, and what becomes of it under a command line.

use super::{
    call::{command, done},
    *,
};

const HEAD: &str = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\n";

impl Folder {
    /// A configuration with these lines.
    fn config(&self, lines: &str) -> String {
        fs::write(self.path("conformance.yaml"), format!("{HEAD}{lines}\n")).expect("written");
        self.flag("conformance.yaml")
    }
}

/// What `--print-config` prints.
fn shown(arguments: &[&str]) -> String {
    let done = call(&[&arguments[..1], &["--print-config"], &arguments[1..]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out
}

#[test]
fn a_file_stands_for_flags_and_flags_win() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference=identity/manager-label-matches\nobserve: 7m\nfilters: [identity/]\n\
         json: report.json\nimplementation: {organization: Example, project: hangar, contact: ['@h']}",
    );
    expect(1, &["run", "--config", &config]);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "not-conformant");
    assert_eq!(report["claim"]["implementation"]["organization"], "Example");
    let judged = |report: &Value| {
        let verdicts = report["verdicts"].as_array().expect("verdicts");
        let is_judged = |verdict: &&Value| verdict["reason"] != "deselected";
        let judged = verdicts.iter().filter(is_judged);
        judged
            .map(|verdict| verdict["rule"].to_string())
            .collect::<Vec<_>>()
    };
    assert!(judged(&report).iter().all(|rule| rule.contains("identity/")));

    expect(
        0,
        &[
            "run",
            "--config",
            &config,
            "--manager",
            "reference",
            "conditions/",
        ],
    );
    let report = folder.json("report.json");
    assert!(judged(&report).iter().all(|rule| rule.contains("conditions/")));
}

#[test]
fn a_variable_wins_over_the_file_and_gives_way_to_a_flag() {
    let folder = Folder::new();
    let config = folder.config("hub: lab\nmanager: reference\nobserve: 7m\nsettle: 20s\nstrict: true");
    let shown = |arguments: &[&str]| {
        let mut command = command(&[&["run", "--print-config"], arguments].concat());
        command
            .env("CLUSTERPROFILE_CONFORMANCE_CONFIG", &config)
            .env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "8m")
            .env("CLUSTERPROFILE_CONFORMANCE_NO_PROBE", "true");
        let done = done(&mut command);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let text = shown(&[]);
    for line in ["observe: 8m", "settle: 20s", "noProbe: true", "strict: true"] {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    assert!(shown(&["--observe", "9m"]).contains("\nobserve: 9m\n"));
    let probing = shown(&["--probe"]);
    assert!(
        probing.contains("\nprobe: true\n") && !probing.contains("noProbe"),
        "{probing}"
    );
    let wrong = done(command(&["run", "--hub", "lab"]).env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "soon"));
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert!(wrong.err.contains("--observe"), "{}", wrong.err);
}

#[test]
fn what_a_flag_excludes_gives_way_to_it() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference\nobserve: 7m\nprobe: true\nfeature: [consumer-secrets]\nstrict: true",
    );
    let done = call(&[
        "run",
        "--config",
        &config,
        "--from",
        "conforming.yaml",
        "identity/",
    ]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for key in ["hub", "manager", "observe", "probe"] {
        assert!(
            done.err.contains(&format!("ignoring `{key}` of"))
                && done.err.contains("it conflicts with --from"),
            "{}",
            done.err
        );
    }
    let text = shown(&[
        "run",
        "--config",
        &config,
        "--context",
        "x",
        "--no-probe",
        "--no-feature",
        "consumer-secrets",
    ]);
    for gone in ["hub:", "manager:", "probe: true\n", "\nfeature:"] {
        let left = text.replace("noProbe: true", "");
        assert!(!left.contains(gone), "{gone} is left in {text}");
    }
    for kept in [
        "context: x\n",
        "observe: 7m\n",
        "noProbe: true\n",
        "strict: true\n",
    ] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
}

/// A driver file cannot drive the reference manager. That nothing is to be driven holds on each hub.
#[test]
fn files_give_way_to_a_manager_and_words_do_not() {
    let folder = Folder::new();
    let lab = |config: &str| {
        shown(&[
            "run",
            "--config",
            config,
            "--hub",
            "lab",
            "--manager",
            "reference",
        ])
    };
    let files = "driver: driver.yaml\nmembers: [members.yaml]\nauditLog: [audit.log]";
    let text = lab(&folder.config(files));
    for gone in ["driver:", "members:", "auditLog:"] {
        assert!(!text.contains(gone), "{gone} is left in {text}");
    }
    let config = folder.config("driver: none\nmembers: [none]\nauditLog: [none]");
    let text = lab(&config);
    for kept in ["driver: none", "members:", "auditLog:"] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
    let run = [
        "run",
        "--config",
        &config,
        "--hub",
        "lab",
        "--manager",
        "reference",
    ];
    let told = expect(3, &[&run[..], &["-v", "lifecycle/join-creates-profile"]].concat());
    assert!(told.contains("no driver was given"), "{told}");
}

#[test]
fn a_replay_does_not_record_into_the_file_of_the_run() {
    let folder = Folder::new();
    let config = folder.config("record: evidence.jsonl\njson: report.json\nfilters: identity/");
    expect(0, &["run", "--config", &config, "--from", "conforming.yaml"]);
    let evidence = folder.text("evidence.jsonl");
    fs::remove_file(folder.path("report.json")).expect("removed");
    let done = call(&["replay", &folder.flag("evidence.jsonl"), "--config", &config]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
    assert_eq!(folder.text("evidence.jsonl"), evidence);
    let path = folder.flag("evidence.jsonl");
    refused(
        &["replay", &path, "--record", &path],
        &["is both an input and an output"],
    );
}

#[test]
fn what_is_printed_can_be_read_again_from_anywhere() {
    let folder = Folder::new();
    let config = folder.config(
        "kubeconfig: ../hub.kubeconfig\nmembers: [from-secrets, members.yaml]\nallowMutations: true\nnodeTolerance: 2\n\
         expectProfiles: 3\nclusterManagerAgent: [manager]\n\
         skip: ['--odd \"text\"', 'no']\nprofileApiVersion: v1alpha1\nedition: 2026-07\ndriver: driver.yaml\n\
         implementation: {project: 'a: b', url: 'https://x.example/#y', version: '1.30'}",
    );
    let first = shown(&[
        "run",
        "--config",
        &config,
        "--junit",
        "here.xml",
        "--driver",
        "reference",
        "--",
        "-x",
    ]);
    for kept in [
        "nodeTolerance: 2\n",
        "expectProfiles: 3\n",
        "clusterManagerAgent: [manager]\n",
        "allowMutations: true\n",
        "driver: reference\n",
        "members: [from-secrets, ",
        "filters: [\"-x\"]\n",
        "profileApiVersion: v1alpha1\n",
        "# format: pretty\n",
    ] {
        assert!(first.contains(kept), "{kept} is not in {first}");
    }
    // Paths of the file are as seen from it, those of flags from the current folder.
    assert!(first.contains(&folder.flag("members.yaml")), "{first}");
    assert!(first.contains("tests/cli/here.xml"), "{first}");
    let elsewhere = Folder::new();
    fs::write(elsewhere.path("again.yaml"), &first).expect("written");
    assert_eq!(shown(&["run", "--config", &elsewhere.flag("again.yaml")]), first);
    // A run and a replay share a file: what is for a run alone is none of the replay's business.
    let replay = shown(&["replay", "conforming.yaml", "--config", &config]);
    assert!(replay.contains("nodeTolerance: 2\n"), "{replay}");
    assert!(
        !replay.contains("driver") && !replay.contains("evidence"),
        "{replay}"
    );
    // Without a file, the flags alone.
    assert!(shown(&["run", "--observe", "5m"]).starts_with(&format!("{HEAD}observe: 5m\n")));
}

#[test]
fn errors_of_the_configuration_name_the_line() {
    let folder = Folder::new();
    for (lines, told) in [
        (
            "obsrve: 5m",
            "line 3: unknown key `obsrve`: did you mean `observe`?",
        ),
        (
            "strict: true\nobserve: '5'",
            "line 4: `observe`: invalid value '5'",
        ),
        ("hub: labb", "possible values: lab, envtest, k3s"),
        ("edition: standart", "did you mean `standard`?"),
        (
            "probe: true\nnoProbe: true",
            "line 4: `noProbe` cannot be used with `probe`",
        ),
        ("manager: \"a\\nb\"", "line 3: `manager`"),
    ] {
        let config = folder.config(lines);
        refused(
            &["run", "--config", &config],
            &["conformance.yaml cannot be used: ", told],
        );
    }
    refused(
        &["run", "--config", "missing.yaml"],
        &["failed to read the configuration missing.yaml"],
    );
    refused(&["run", "--config", "-"], &["name a file"]);
    let config = folder.config("json: conformance.yaml");
    refused(
        &["run", "--config", &config, "--from", "conforming.yaml"],
        &["is both an input and an output"],
    );
    // None is read that was not asked for.
    let mut run = command(&["run", "--hub", "lab", "--manager", "reference", "identity/"]);
    let done = run
        .current_dir(folder.path(""))
        .output()
        .expect("the command runs");
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn the_example_can_be_used() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/configuration/conformance.yaml");
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let fault = "reference=identity/manager-label-matches";
    let run = ["run", "--hub", "lab", "--manager", fault, "--json", &json];
    let told = expect(
        0,
        &[&run[..], &["--config", example.to_str().expect("UTF-8")]].concat(),
    );
    assert!(told.contains("edition standard, 1 rule waived"), "{told}");
    let report = folder.json("report.json");
    assert_eq!(report["claim"]["implementation"]["project"], "fleet-hangar");
    assert_eq!(report["waivers"][0]["expired"], false);
}
