package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The extension of a kubeconfig's cluster that holds the settings of credential plugins: see clientcmdapi.ExecConfig.
const execExtension = "client.authentication.k8s.io/exec"

// What the suite reads a proxy from if the kubeconfig has none.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy"}

// access says how the suite's process reaches a hub.
type access struct {
	config *clientcmdapi.Config
	// Whether it must not use the proxy of the environment.
	direct bool
}

// accessOf converts a rest.Config to a kubeconfig. It returns an error for what a kubeconfig cannot hold.
func accessOf(cfg *rest.Config) (*access, error) {
	if cfg == nil {
		return nil, fmt.Errorf("the rest.Config is nil: start the hub before judging it")
	}
	if err := refuseCode(cfg); err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("failed to read rest.Config.Host %q: %w", cfg.Host, err)
	}
	cluster := clientcmdapi.NewCluster()
	cluster.Server = server.String()
	cluster.TLSServerName = cfg.ServerName
	cluster.InsecureSkipTLSVerify = cfg.Insecure
	cluster.CertificateAuthorityData = cfg.CAData
	cluster.DisableCompression = cfg.DisableCompression
	proxy, err := proxyFor(cfg, server)
	if err != nil {
		return nil, fmt.Errorf("failed to ask rest.Config.Proxy for the proxy of %s: %w", server, err)
	}
	if proxy != nil {
		cluster.ProxyURL = proxy.String()
	}

	user := clientcmdapi.NewAuthInfo()
	user.Username, user.Password = cfg.Username, cfg.Password
	user.ClientCertificateData, user.ClientKeyData = cfg.CertData, cfg.KeyData
	user.Impersonate, user.ImpersonateUID = cfg.Impersonate.UserName, cfg.Impersonate.UID
	user.ImpersonateGroups, user.ImpersonateUserExtra = cfg.Impersonate.Groups, cfg.Impersonate.Extra
	if cfg.ExecProvider != nil {
		user.Exec = cfg.ExecProvider.DeepCopy()
		if cfg.ExecProvider.Config != nil {
			cluster.Extensions[execExtension] = cfg.ExecProvider.Config
		}
		// A bare name is searched on PATH; the others are paths.
		if strings.ContainsRune(user.Exec.Command, filepath.Separator) {
			if user.Exec.Command, err = filepath.Abs(user.Exec.Command); err != nil {
				return nil, err
			}
		}
		if proxy == nil {
			user.Exec.Env = append(user.Exec.Env, proxiesOf(user.Exec.Env)...)
		}
	}
	// In a kubeconfig, paths begin at its folder; in a rest.Config, at the working directory. Data wins over files.
	for _, file := range []struct {
		path string
		data []byte
		into *string
	}{
		{cfg.CAFile, cfg.CAData, &cluster.CertificateAuthority},
		{cfg.CertFile, cfg.CertData, &user.ClientCertificate},
		{cfg.KeyFile, cfg.KeyData, &user.ClientKey},
		{cfg.BearerTokenFile, nil, &user.TokenFile},
	} {
		if file.path == "" || len(file.data) > 0 {
			continue
		}
		if *file.into, err = filepath.Abs(file.path); err != nil {
			return nil, err
		}
	}
	// client-go prefers the file as long as it can be read; in the suite, the token would win.
	if user.TokenFile != "" {
		if _, err := os.ReadFile(user.TokenFile); err != nil && cfg.BearerToken != "" {
			user.TokenFile = ""
		}
	}
	if user.TokenFile == "" {
		user.Token = cfg.BearerToken
	}

	// Reports name the hub by its context.
	name := server.Host
	config := clientcmdapi.NewConfig()
	config.Clusters[name], config.AuthInfos[name] = cluster, user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return &access{config: config, direct: proxy == nil}, nil
}

// refuseCode returns an error if the configuration relies on code of this process, which the suite cannot call.
func refuseCode(cfg *rest.Config) error {
	field := ""
	switch {
	case cfg.Transport != nil:
		field = "Transport"
	case cfg.WrapTransport != nil:
		field = "WrapTransport"
	case cfg.Dial != nil:
		field = "Dial"
	case cfg.AuthProvider != nil:
		return fmt.Errorf("rest.Config.AuthProvider (%s) cannot be passed to the suite's process: use ExecProvider, a token or a client certificate",
			escape(cfg.AuthProvider.Name))
	default:
		return nil
	}
	return fmt.Errorf("rest.Config.%s is code of this process, which the suite's process cannot call: "+
		"pass a copy (rest.CopyConfig) without it, whose credentials are in other fields", field)
}

// proxyFor returns the proxy that client-go would use, or nil.
func proxyFor(cfg *rest.Config, server *url.URL) (*url.URL, error) {
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return proxy(&http.Request{Method: http.MethodGet, URL: server})
}

// proxiesOf returns the environment's proxies that a credential plugin does not set itself: it still needs them if the
// hub is reached without.
func proxiesOf(own []clientcmdapi.ExecEnvVar) []clientcmdapi.ExecEnvVar {
	set := make(map[string]bool)
	for _, variable := range own {
		set[variable.Name] = true
	}
	var missing []clientcmdapi.ExecEnvVar
	for _, name := range proxyVariables {
		if value, ok := os.LookupEnv(name); ok && !set[name] {
			missing = append(missing, clientcmdapi.ExecEnvVar{Name: name, Value: value})
		}
	}
	return missing
}

// context returns the name of the only context.
func (a *access) context() string { return a.config.CurrentContext }

// write writes the kubeconfig, readable by its owner only: it holds credentials.
func (a *access) write(path string) error {
	content, err := clientcmd.Write(*a.config)
	if err != nil {
		return fmt.Errorf("failed to make a kubeconfig of the rest.Config: %w", err)
	}
	return os.WriteFile(path, content, 0o600)
}

// environment returns the environment of the suite's process.
func (a *access) environment() []string {
	var environment []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if a.direct && (name == proxyVariables[0] || name == proxyVariables[1]) {
			continue
		}
		environment = append(environment, variable)
	}
	return append(environment, "NO_COLOR=1")
}
