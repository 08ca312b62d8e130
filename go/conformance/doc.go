// Package conformance judges a ClusterProfile hub in a Go test, with the clusterprofile-conformance suite.
//
// A test of a cluster manager needs one call once its envtest hub and its manager run:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, cfg, conformance.Observe(time.Minute))
//	}
//
// Each rule of the suite becomes a subtest: a broken rule fails it, and a rule that could not be judged skips it with
// the reason. [Judge] does the same without a *testing.T, for Ginkgo and for programs.
//
// # The suite's binary
//
// The package runs the suite as a process. It finds clusterprofile-conformance on PATH; the option [Binary] or the
// environment variable CLUSTERPROFILE_CONFORMANCE_BINARY names another. Its version must be [Version].
//
// # Reports and evidence
//
// A run writes report.json, report.html, report.yaml (to submit) and evidence.jsonl.zst (to judge again). They are the
// test's artifacts: `go test -artifacts` keeps them from Go 1.26 on. For older releases, name a folder with the option
// [Artifacts] or the environment variable CLUSTERPROFILE_CONFORMANCE_ARTIFACTS.
//
// # Deadlines
//
// A run that would outlast its test is stopped 15 s before the deadline, so that it can judge what it saw and write its
// reports. A watch that cannot fit into the deadline is an error at the start.
package conformance
