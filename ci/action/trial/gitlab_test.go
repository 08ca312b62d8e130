package trial

import "testing"

type component struct{ inputs entries }

func readComponent(t *testing.T) component { return component{} }
