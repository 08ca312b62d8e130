package conformance_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/conformance"
)

// handed judges a hub with the fake suite, and returns the configuration that client-go reads from the kubeconfig that
// the suite was given, and the folder of what else it saw.
func handed(t *testing.T, cfg *rest.Config) (*rest.Config, string) {
	t.Helper()
	seen := t.TempDir()
	useFake(t, fakeSeen+"="+seen, fakeChanges+"="+withoutViolation)
	if _, err := conformance.Judge(t.Context(), cfg, conformance.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := clientcmd.BuildConfigFromFlags("", filepath.Join(seen, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return read, seen
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAKubeconfigHasWhatTheConfigurationHas(t *testing.T) {
	direct := func(*http.Request) (*url.URL, error) { return nil, nil }
	folder := t.TempDir()
	for _, name := range []string{"token", "ca.pem", "cert.pem", "key.pem"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("from-file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := filepath.Join(folder, "token")
	here, err := filepath.Rel(absolute(t, "."), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		cfg, expect rest.Config
	}{
		{
			"certificates in memory",
			rest.Config{Host: "https://h:1", TLSClientConfig: rest.TLSClientConfig{
				CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key"), ServerName: "name",
				// Data wins over files.
				CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem",
			}},
			rest.Config{Host: "https://h:1", TLSClientConfig: rest.TLSClientConfig{
				CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key"), ServerName: "name",
			}},
		},
		{
			"certificates in files, from the working directory",
			rest.Config{Host: "https://h:1", TLSClientConfig: rest.TLSClientConfig{
				CAFile: filepath.Join(here, "ca.pem"), CertFile: filepath.Join(here, "cert.pem"), KeyFile: filepath.Join(folder, "key.pem"),
			}},
			rest.Config{Host: "https://h:1", TLSClientConfig: rest.TLSClientConfig{
				CAData: []byte("from-file"), CertData: []byte("from-file"), KeyData: []byte("from-file"),
			}},
		},
		{
			"insecure, without a scheme",
			rest.Config{Host: "h:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
			rest.Config{Host: "https://h:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		},
		{"below a path", rest.Config{Host: "https://h:1/prefix"}, rest.Config{Host: "https://h:1/prefix"}},
		{"without TLS", rest.Config{Host: "127.0.0.1:8080"}, rest.Config{Host: "http://127.0.0.1:8080"}},
		{
			"a token",
			rest.Config{Host: "https://h:1", BearerToken: "secret"},
			rest.Config{Host: "https://h:1", BearerToken: "secret"},
		},
		{
			"a token file, which wins over the token",
			rest.Config{Host: "https://h:1", BearerToken: "old", BearerTokenFile: token},
			rest.Config{Host: "https://h:1", BearerToken: "from-file", BearerTokenFile: token},
		},
		{
			"a token file that is not there",
			rest.Config{Host: "https://h:1", BearerToken: "secret", BearerTokenFile: "/nowhere/token"},
			rest.Config{Host: "https://h:1", BearerToken: "secret"},
		},
		{
			"a password",
			rest.Config{Host: "https://h:1", Username: "ann", Password: "secret"},
			rest.Config{Host: "https://h:1", Username: "ann", Password: "secret"},
		},
		{
			"impersonation",
			rest.Config{Host: "https://h:1", Impersonate: rest.ImpersonationConfig{
				UserName: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}},
			}},
			rest.Config{Host: "https://h:1", Impersonate: rest.ImpersonationConfig{
				UserName: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}},
			}},
		},
		{
			"a credential plugin",
			rest.Config{Host: "https://h:1", ExecProvider: &clientcmdapi.ExecConfig{
				Command: "plugins/login", Args: []string{"--now"}, Env: []clientcmdapi.ExecEnvVar{{Name: "A", Value: "B"}},
				APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
				ProvideClusterInfo: true,
			}},
			rest.Config{Host: "https://h:1", ExecProvider: &clientcmdapi.ExecConfig{
				Command: absolute(t, "plugins/login"), Args: []string{"--now"}, Env: []clientcmdapi.ExecEnvVar{{Name: "A", Value: "B"}},
				APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
				ProvideClusterInfo: true,
			}},
		},
		{
			"no compression",
			rest.Config{Host: "https://h:1", DisableCompression: true},
			rest.Config{Host: "https://h:1", DisableCompression: true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
				t.Setenv(name, "")
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
			test.cfg.Proxy = direct
			read, seen := handed(t, &test.cfg)
			if read.ExecProvider != nil {
				// clientcmd sets these for its own process.
				read.ExecProvider.StdinUnavailable = test.expect.ExecProvider.StdinUnavailable
				read.ExecProvider.Config = nil
			}
			if !reflect.DeepEqual(*read, test.expect) {
				t.Errorf("expected %#v, got %#v", test.expect, *read)
			}
			mode, err := os.ReadFile(filepath.Join(seen, "mode"))
			if err != nil || string(mode) != "-rw-------" {
				t.Errorf("the kubeconfig's mode is %s (%v)", mode, err)
			}
		})
	}
}

// Otherwise the suite would be an anonymous user.
func TestAnUnreadableTokenFileIsHanded(t *testing.T) {
	seen := t.TempDir()
	useFake(t, fakeSeen+"="+seen, fakeChanges+"="+withoutViolation)
	cfg := hub()
	cfg.BearerTokenFile = "/nowhere/token"
	if _, err := conformance.Judge(t.Context(), cfg, conformance.Options{}); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(seen, "kubeconfig"))
	if err != nil || !strings.Contains(string(written), `"tokenFile":"/nowhere/token"`) {
		t.Errorf("the token file is missing in %s (%v)", written, err)
	}
}

func TestThePluginsOwnSettingsAreHanded(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters:
- name: c
  cluster:
    server: https://h:1
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: fleet}
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never, provideClusterInfo: true}}}]
`
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	_, seen := handed(t, cfg)
	written, err := os.ReadFile(filepath.Join(seen, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{`"extension":{"audience":"fleet"`, `"name":"client.authentication.k8s.io/exec"`, `"command":"login"`} {
		if !strings.Contains(string(written), expected) {
			t.Errorf("%q is missing in\n%s", expected, written)
		}
	}
}

func TestTheSuiteUsesTheProxyOfTheConfiguration(t *testing.T) {
	proxy, err := url.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	cfg := hub()
	cfg.Proxy = func(request *http.Request) (*url.URL, error) {
		if request.URL.Host == "hub.example:6443" {
			return proxy, nil
		}
		return nil, nil
	}
	// Members and hooks may need the proxy of the environment, too.
	t.Setenv("HTTPS_PROXY", "http://other.example:3128")
	read, seen := handed(t, cfg)
	environment, err := os.ReadFile(filepath.Join(seen, "environment"))
	if err != nil || !strings.Contains(string(environment), "HTTPS_PROXY=http://other.example:3128") {
		t.Errorf("the suite does not see HTTPS_PROXY (%v)", err)
	}
	if read.Proxy == nil {
		t.Fatal("the kubeconfig has no proxy")
	}
	if used, err := read.Proxy(&http.Request{}); err != nil || used.String() != proxy.String() {
		t.Errorf("expected %s, got %s (%v)", proxy, used, err)
	}
}

// The suite takes HTTPS_PROXY for every hub, while client-go never uses a proxy for a hub on this machine, as those of
// envtest are.
func TestTheSuiteUsesNoProxyWhereClientGoUsesNone(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	seen := t.TempDir()
	useFake(t, fakeSeen+"="+seen, fakeChanges+"="+withoutViolation)
	cfg := &rest.Config{Host: "https://127.0.0.1:6443", ExecProvider: &clientcmdapi.ExecConfig{
		Command: "login", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	if _, err := conformance.Judge(t.Context(), cfg, conformance.Options{}); err != nil {
		t.Fatal(err)
	}
	environment, err := os.ReadFile(filepath.Join(seen, "environment"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(environment), "HTTPS_PROXY=") {
		t.Error("the suite sees HTTPS_PROXY")
	}
	// A plugin that logs in elsewhere still needs it.
	read, err := clientcmd.BuildConfigFromFlags("", filepath.Join(seen, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	expected := []clientcmdapi.ExecEnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy.example:3128"}}
	if !reflect.DeepEqual(read.ExecProvider.Env, expected) {
		t.Errorf("expected %v, got %v", expected, read.ExecProvider.Env)
	}
}

type roundTripper struct{}

func (roundTripper) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }

func TestCodeInAConfigurationIsRefused(t *testing.T) {
	useFake(t)
	for field, change := range map[string]func(*rest.Config){
		"WrapTransport": func(cfg *rest.Config) {
			cfg.Wrap(func(inner http.RoundTripper) http.RoundTripper { return inner })
		},
		"Transport": func(cfg *rest.Config) { cfg.Transport = roundTripper{} },
		"Dial": func(cfg *rest.Config) {
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, nil }
		},
		"AuthProvider": func(cfg *rest.Config) { cfg.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"} },
	} {
		cfg := hub()
		change(cfg)
		_, err := conformance.Judge(t.Context(), cfg, conformance.Options{})
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := conformance.Judge(t.Context(), nil, conformance.Options{}); err == nil || !strings.Contains(err.Error(), "the rest.Config is nil") {
		t.Errorf("%v", err)
	}
}
