package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// The variables from which the suite would take a proxy.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy"}

// environment returns the environment of the suite's process. It has no proxy if client-go reaches the hub without one.
func environment(hasProxy bool) []string {
	return append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !hasProxy && slices.Contains(proxyVariables, name)
	}), "NO_COLOR=1")
}

// object is a JSON object.
type object map[string]any

// isEmpty reports whether a value is left out of an object.
func isEmpty(_ string, value any) bool {
	data, isData := value.([]byte)
	return reflect.ValueOf(value).IsZero() || isData && len(data) == 0
}

// writeKubeconfig converts a rest.Config to a kubeconfig that only its owner can read. It returns the name of its context,
// and whether the hub is reached through a proxy; and an error for code of this process, which the suite's process cannot
// call.
func writeKubeconfig(path string, cfg *rest.Config) (hubContext string, hasProxy bool, err error) {
	switch {
	case cfg == nil:
		return "", false, errors.New("the rest.Config is nil: start the hub before judging it")
	case cfg.Transport != nil, cfg.WrapTransport != nil, cfg.Dial != nil, cfg.AuthProvider != nil:
		return "", false, errors.New("the suite's process cannot call Transport, WrapTransport, Dial or AuthProvider of the rest.Config: " +
			"pass a copy (rest.CopyConfig) without them, whose credentials are in other fields")
	}
	cfg = rest.CopyConfig(cfg)
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return "", false, fmt.Errorf("failed to read the certificates of the rest.Config: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return "", false, fmt.Errorf("failed to read rest.Config.Host %q: %w", cfg.Host, err)
	}
	cluster := object{
		"server": server.String(), "tls-server-name": cfg.ServerName, "certificate-authority-data": cfg.CAData,
		"insecure-skip-tls-verify": cfg.Insecure, "disable-compression": cfg.DisableCompression,
	}
	// As client-go, which heeds NO_PROXY.
	findProxy := cfg.Proxy
	if findProxy == nil {
		findProxy = http.ProxyFromEnvironment
	}
	proxy, err := findProxy(&http.Request{Method: http.MethodGet, URL: server})
	if err != nil {
		return "", false, fmt.Errorf("failed to find the proxy of %s: %w", server, err)
	}
	if proxy != nil {
		cluster["proxy-url"] = proxy.String()
	}
	user := object{
		"username": cfg.Username, "password": cfg.Password,
		"as": cfg.Impersonate.UserName, "as-uid": cfg.Impersonate.UID,
		"as-groups": cfg.Impersonate.Groups, "as-user-extra": cfg.Impersonate.Extra,
		"client-certificate-data": cfg.CertData, "client-key-data": cfg.KeyData, "token": cfg.BearerToken,
	}
	// As client-go, which prefers the file while it can be read. Without a token, the suite reports an unreadable file.
	if _, err := os.ReadFile(cfg.BearerTokenFile); cfg.BearerTokenFile != "" && (err == nil || cfg.BearerToken == "") {
		delete(user, "token")
		if user["tokenFile"], err = filepath.Abs(cfg.BearerTokenFile); err != nil {
			return "", false, err
		}
	}
	if plugin := cfg.ExecProvider; plugin != nil {
		command := plugin.Command
		// A bare name is searched on PATH.
		if strings.ContainsRune(command, filepath.Separator) {
			if command, err = filepath.Abs(command); err != nil {
				return "", false, err
			}
		}
		// A plugin may log in through a proxy that the hub does not need. Its own variables come last, and win.
		var env []any
		for _, name := range proxyVariables {
			if value := os.Getenv(name); value != "" {
				env = append(env, object{"name": name, "value": value})
			}
		}
		for _, variable := range plugin.Env {
			env = append(env, variable)
		}
		user["exec"] = object{
			"apiVersion": plugin.APIVersion, "command": command, "args": plugin.Args, "env": env,
			"provideClusterInfo": plugin.ProvideClusterInfo, "interactiveMode": cmp.Or(string(plugin.InteractiveMode), "Never"),
		}
		if plugin.Config != nil {
			cluster["extensions"] = []object{{"name": "client.authentication.k8s.io/exec", "extension": plugin.Config}}
		}
	}
	maps.DeleteFunc(cluster, isEmpty)
	maps.DeleteFunc(user, isEmpty)
	// Reports name the hub by its context.
	name := server.Host
	content, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": cluster}},
		"users":    []object{{"name": name, "user": user}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
	})
	if err != nil {
		return "", false, fmt.Errorf("failed to write a kubeconfig of the rest.Config: %w", err)
	}
	return name, proxy != nil, os.WriteFile(path, content, 0o600)
}
