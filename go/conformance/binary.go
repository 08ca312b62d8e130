package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Version is the version of the suite that this package runs.
const Version = "0.1.0"

const (
	// What the suite's binary is called.
	program = "clusterprofile-conformance"
	// Where its releases are.
	releases = "https://github.com/clusterprofile-conformance/clusterprofile-conformance/releases"
	// How long the binary may take to print its version.
	versionPatience = 10 * time.Second
)

// findBinary returns the path of the suite's binary, once it has this package's version.
func findBinary(ctx context.Context, named string) (string, error) {
	path, err := locate(named)
	if err != nil {
		return "", err
	}
	return path, checkVersion(ctx, path)
}

func locate(named string) (string, error) {
	by := "conformance.Binary"
	if named == "" {
		by, named = "$"+BinaryVariable, os.Getenv(BinaryVariable)
	}
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s names no program that can be run: %w", by, err)
		}
		return path, nil
	}
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not on PATH: install version %s (%s), or name the binary by conformance.Binary or $%s",
			program, Version, archives(), BinaryVariable)
	}
	return path, err
}

func checkVersion(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	printed, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return fmt.Errorf("failed to run %s --version: %w", path, err)
	}
	version, ours := strings.CutPrefix(strings.TrimSpace(string(printed)), program+" ")
	if !ours {
		return fmt.Errorf("%s is not the suite: it answers --version with %q", path, escape(string(printed)))
	}
	if version != Version {
		return fmt.Errorf("%s has version %s, this package runs version %s: install that one (%s), "+
			"or require the Go module in the binary's version (go get %s@v%s)",
			path, escape(version), Version, archives(), module, escape(version))
	}
	return nil
}

const module = "github.com/clusterprofile-conformance/clusterprofile-conformance/go"

func archives() string { return releases + "/tag/v" + Version }
