//go:build ignore

// Packs what a plugin handed over as Sonobuoy's aggregator does, so that `sonobuoy results` can be tried without a
// cluster:
//
//	pack PLUGIN.yaml RESULTS-FOLDER OUT.tar.gz
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmware-tanzu/sonobuoy/pkg/client/results"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin/driver/job"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin/loader"
	"github.com/vmware-tanzu/sonobuoy/pkg/tarball"
)

// version is that of Sonobuoy.
var version string

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pack PLUGIN.yaml RESULTS-FOLDER OUT.tar.gz")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pack(definition, handedOver, out string) error {
	manifest, err := loader.LoadDefinitionFromFile(definition)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "sonobuoy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	plugin := job.NewPlugin(*manifest, "sonobuoy", "", "", "", nil)
	folder := filepath.Join(root, results.PluginsDir, plugin.GetName(), results.ResultsDir, "global")
	if err := os.CopyFS(folder, os.DirFS(handedOver)); err != nil {
		return err
	}
	item, failed := results.PostProcessPlugin(plugin, root)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if err := results.SaveProcessedResults(plugin.GetName(), root, item); err != nil {
		return err
	}
	// From it, `sonobuoy results` learns the version of the format.
	if err := os.Mkdir(filepath.Join(root, "meta"), 0o755); err != nil {
		return err
	}
	config := []byte(`{"Version": "` + version + `"}`)
	if err := os.WriteFile(filepath.Join(root, "meta", "config.json"), config, 0o644); err != nil {
		return err
	}
	return tarball.DirToTarball(root, out, true)
}
