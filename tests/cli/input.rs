//! Files of others: what is too large is refused, with its place and the flag that allows more.

use super::*;

#[test]
fn each_command_that_reads_a_file_of_others_bounds_it() {
    let folder = Folder::new();
    let (report, evidence) = (folder.flag("report.yaml"), folder.flag("evidence.jsonl.zst"));
    // So many that their evidence is larger than the report.
    let profile = |number: usize| {
        format!(
            "---\napiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata:\n  name: p{number}\n  \
             namespace: fleet\n  annotations:\n    note: {}\n",
            "x".repeat(200)
        )
    };
    let dump: String = (0..200).map(profile).collect();
    fs::write(folder.path("dump.yaml"), dump).expect("written");
    let dump = folder.flag("dump.yaml");
    expect(
        1,
        &["run", "--from", &dump, "--report", &report, "--record", &evidence],
    );
    let told = ["it holds more than 100 bytes, unpacked", "--max-input SIZE"];
    let bounded = ["--max-input", "100"];
    for arguments in [
        &["run", "--from", &dump][..],
        &["run", "--from", &evidence],
        &["replay", &evidence],
        &["report", "diff", &report, &report],
        &["report", "verify", &report, &evidence],
    ] {
        let arguments = [arguments, &bounded].concat();
        refused(&arguments, &told);
    }
    // The report fits, and the evidence does not.
    let size = fs::metadata(folder.path("report.yaml")).expect("a report").len();
    refused(
        &[
            "report",
            "verify",
            &report,
            &evidence,
            "--max-input",
            &size.to_string(),
        ],
        &[
            "failed to read the evidence",
            "unpacked; allow more with --max-input SIZE",
        ],
    );
    expect(0, &["report", "verify", &report, &evidence, "--max-input", "1Mi"]);
    refused(
        &["replay", &evidence, "--max-input", "lots"],
        &["such as 500Mi or 4Gi"],
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    refused(
        &["run", "--from", "/dev/zero"],
        &["/dev/zero:1:1 is not valid YAML"],
    );
    refused(
        &["report", "diff", "/dev/zero", "/dev/zero"],
        &["it has more than 67108864 bytes, and no report does"],
    );
}

#[cfg(unix)]
#[test]
fn what_a_user_names_has_a_bound() {
    let folder = Folder::new();
    fs::write(folder.path("dump.yaml"), include_str!("conforming.yaml")).expect("written");
    let dump = folder.flag("dump.yaml");
    let small = "it has more than 16 MiB: is this the right file?";
    let kubeconfig = "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {token: t}}], \
        clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], \
        contexts: [{name: c, context: {cluster: c, user: u}}]}";
    fs::write(folder.path("kubeconfig"), kubeconfig).expect("written");
    let kubeconfig = folder.flag("kubeconfig");
    let of_hub = |flag| {
        vec![
            "run",
            "--kubeconfig",
            &kubeconfig,
            "--allow-mutations",
            flag,
            "/dev/zero",
        ]
    };
    for (arguments, told) in [
        (
            vec!["run", "--kubeconfig", "/dev/zero"],
            "it has more than 64 MiB: is this the right file?",
        ),
        (vec!["run", "--from", &dump, "--waivers", "/dev/zero"], small),
        (of_hub("--config"), small),
        (of_hub("--members"), small),
        (of_hub("--provider-file"), small),
        (of_hub("--driver"), small),
    ] {
        refused(&arguments, &["/dev/zero", told]);
    }
}
