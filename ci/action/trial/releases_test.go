package trial

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// repository is that of the action.
const repository = "clusterprofile-conformance/clusterprofile-conformance"

// target is the platform that the trials run on, as Rust names it.
var target = map[string]string{
	"amd64": "x86_64-unknown-linux-musl",
	"arm64": "aarch64-unknown-linux-musl",
}[runtime.GOARCH]

// stem is the name of an archive of that version, and of the folder in it.
func stem(version string) string {
	return fmt.Sprintf("clusterprofile-conformance-%s-v%s", target, version)
}

// pack writes an archive with the file as the suite's binary, and the sums beside it. It returns the archive's path.
func pack(t *testing.T, folder, version, binary string) string {
	t.Helper()
	path := filepath.Join(folder, stem(version)+".tar.gz")
	check(t, writeArchive(path, stem(version)+"/clusterprofile-conformance", binary))
	check(t, os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sumOf(t, path)+"  "+filepath.Base(path)+"\n"), 0o644))
	return path
}

func writeArchive(path, name, binary string) (err error) {
	from, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer from.Close()
	about, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := to.Close(); err == nil {
			err = closing
		}
	}()
	// The debug binary is large, and the trials wait for it.
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	files := tar.NewWriter(packed)
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: about.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(files, from); err != nil {
		return err
	}
	if err := files.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	check(t, err)
	defer file.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	check(t, err)
	return hex.EncodeToString(digest.Sum(nil))
}

// serveRelease answers as GitHub does for a repository whose newest release holds the folder's files.
func serveRelease(t *testing.T, version, folder string) string {
	t.Helper()
	routes := http.NewServeMux()
	releases := "/" + repository + "/releases"
	routes.Handle(releases+"/latest", http.RedirectHandler(releases+"/tag/v"+version, http.StatusFound))
	download := releases + "/download/v" + version + "/"
	routes.Handle(download, http.StripPrefix(download, http.FileServer(http.Dir(folder))))
	server := httptest.NewTLSServer(routes)
	t.Cleanup(server.Close)
	return server.URL
}
