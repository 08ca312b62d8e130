package conformance_test

import (
	"io"
	"net"
	"testing"
)

func TestTheSuiteEndsWithAKilledTest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	command := innerCommand(t, nil, fakeWaits+"=1", fakeCalls+"="+listener.Addr().String(),
		// A killed test removes nothing.
		"TMPDIR="+t.TempDir())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	suite, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Error("the test was not killed")
	}
	said, err := io.ReadAll(suite)
	if err != nil || string(said) != "stopped" {
		t.Errorf("expected the suite to be stopped, got %q (%v)", said, err)
	}
}
