package fleet_test

import (
	"testing"
	"time"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, cfg, conformance.Options{Observe: 3 * time.Minute})
}
