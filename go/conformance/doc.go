// Package conformance judges a ClusterProfile hub in a Go test, with the clusterprofile-conformance suite.
//
// A test of a cluster manager needs one call once its envtest hub and its manager run:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, cfg, conformance.Options{Observe: 3 * time.Minute})
//	}
//
// Each rule of the suite becomes a subtest: a broken rule fails it, and a rule that could not be judged skips it with the
// reason. [Judge] does the same without a *testing.T, for Ginkgo and for programs.
//
// A run writes report.json, report.html, report.yaml (to submit) and evidence.jsonl.zst (to judge again). They are the
// test's artifacts: `go test -artifacts` keeps them.
package conformance
