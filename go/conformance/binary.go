package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"reflect"
	"strings"
	"time"
)

// Version is the version of the suite that this package runs.
const Version = "0.1.0"

const (
	// What the suite's binary is called.
	program = "clusterprofile-conformance"
	// How long the binary may take to print its version.
	versionPatience = 10 * time.Second
)

// findBinary returns the path of the suite's binary, once it has this package's version.
func findBinary(ctx context.Context, named string) (string, error) {
	binary, err := locate(named)
	if err != nil {
		return "", err
	}
	return binary, checkVersion(ctx, binary)
}

func locate(named string) (string, error) {
	by := "conformance.Binary"
	if named == "" {
		by, named = "$"+BinaryVariable, os.Getenv(BinaryVariable)
	}
	if named != "" {
		binary, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s names no program that can be run: %w", by, err)
		}
		return binary, nil
	}
	binary, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not on PATH: install version %s (%s), or name the binary by conformance.Binary or $%s",
			program, Version, release(), BinaryVariable)
	}
	return binary, err
}

func checkVersion(ctx context.Context, binary string) error {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	printed, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return fmt.Errorf("failed to run %s --version: %w", binary, err)
	}
	version, ours := strings.CutPrefix(strings.TrimSpace(string(printed)), program+" ")
	if !ours {
		return fmt.Errorf("%s is not the suite: it answers --version with %q", binary, escape(string(printed)))
	}
	if version != Version {
		return fmt.Errorf("%s has version %s, this package runs version %s: install that one (%s), "+
			"or require the Go module in the binary's version (go get %s@v%s)",
			binary, escape(version), Version, release(), module(), escape(version))
	}
	return nil
}

// module returns the path of this Go module.
func module() string { return path.Dir(reflect.TypeFor[Report]().PkgPath()) }

// release returns the address of the suite's release of this version: the module is a folder of its repository.
func release() string { return "https://" + path.Dir(module()) + "/releases/tag/v" + Version }
