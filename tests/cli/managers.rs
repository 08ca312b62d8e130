//! The published reports of real managers: they follow from the evidence beside them, by the suite as it is.

use super::*;

#[test]
fn published_reports_follow_from_their_evidence() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let mut verified = 0;
    for manager in fs::read_dir(&reports).expect("reports") {
        for version in fs::read_dir(manager.expect("a folder").path()).expect("versions") {
            let folder = version.expect("a folder").path();
            let file = |name: &str| folder.join(name).display().to_string();
            let told = expect(
                0,
                &[
                    "report",
                    "verify",
                    &file("report.yaml"),
                    &file("evidence.jsonl.zst"),
                ],
            );
            assert!(told.contains("fit: "), "{}: {told}", folder.display());
            for name in ["report.json", "report.md"] {
                let text = fs::read_to_string(folder.join(name)).expect(name);
                assert!(
                    !text.contains("/tmp/"),
                    "{}/{name} names a place of a machine",
                    folder.display()
                );
            }
            verified += 1;
        }
    }
    assert!(verified >= 2, "{verified} reports");
}
