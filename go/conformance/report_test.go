package conformance_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// schema is the part of a JSON Schema that this test reads.
type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Defs       map[string]schema          `json:"$defs"`
	OneOf      []struct {
		Const string `json:"const"`
	} `json:"oneOf"`
}

func readSchema(t *testing.T) schema {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "schemas", "json-report.v1.schema.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the suite's source is not beside this module")
	}
	if err != nil {
		t.Fatal(err)
	}
	var read schema
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestTheReportHasTheFieldsOfItsSchema(t *testing.T) {
	report := readSchema(t)
	for _, test := range []struct {
		of any
		in schema
	}{
		{conformance.Report{}, report},
		{conformance.Verdict{}, report.Defs["Entry"]},
		{conformance.Finding{}, report.Defs["Finding"]},
		{conformance.Object{}, report.Defs["ObjectRef"]},
	} {
		kind := reflect.TypeOf(test.of)
		for place := range kind.NumField() {
			name := kind.Field(place).Tag.Get("json")
			if name == "-" || !kind.Field(place).IsExported() {
				continue
			}
			if _, ok := test.in.Properties[name]; !ok {
				t.Errorf("%s: the schema has no property %q", kind, name)
			}
		}
	}
}

func TestTheReportHasTheWordsOfItsSchema(t *testing.T) {
	report := readSchema(t)
	for name, ours := range map[string][]string{
		"Decision": {"conformant", "no-violation", "inconclusive", "not-conformant"},
		"Verdict":  {"pass", "fail", "warn", "waived", "inconclusive", "not-applicable", "skipped"},
	} {
		var theirs []string
		for _, one := range report.Defs[name].OneOf {
			theirs = append(theirs, one.Const)
		}
		if strings.Join(theirs, " ") != strings.Join(ours, " ") {
			t.Errorf("%s: expected %q, got %q", name, theirs, ours)
		}
	}
}
