// Starts as `k3s server` does, as far as a client of its API server can tell: the same flags, the kubeconfig in the same place and of
// the same form, the same port. There are no controllers and no node behind it.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	kubeconfig = "/etc/rancher/k3s/k3s.yaml"
	state      = "/var/lib/rancher/k3s/server"
	etcd       = "http://127.0.0.1:2379"
)

func main() {
	log.SetFlags(0)
	arguments := apiServerArguments(os.Args[1:])
	check(os.MkdirAll(state, 0o700))
	authority := newAuthority()
	authority.issue("apiserver", x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	authority.issue("admin", x509.Certificate{
		Subject:     pkix.Name{CommonName: "system:admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})

	ended := make(chan string, 2)
	start(ended, "etcd", "--data-dir", in("db"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--unsafe-no-fsync", "--log-level", "error")
	start(ended, "kube-apiserver", append([]string{
		"--etcd-servers", etcd, "--bind-address", "0.0.0.0", "--secure-port", "6443", "--authorization-mode", "Node,RBAC",
		"--tls-cert-file", in("apiserver.crt"), "--tls-private-key-file", in("apiserver.key"), "--client-ca-file", in("ca.crt"),
		"--service-account-issuer", "https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range", "10.43.0.0/16",
		"--service-account-signing-key-file", in("ca.key"), "--service-account-key-file", in("ca.key"),
	}, arguments...)...)
	go func() {
		authority.waitUntilReady()
		check(writeKubeconfig())
		log.Print("Wrote kubeconfig ", kubeconfig)
	}()

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	select {
	case name := <-ended:
		log.Fatal(name, " ended")
	case <-signals:
	}
}

// What follows each --kube-apiserver-arg. Other flags than those that the suite gives are refused, as K3s refuses unknown ones.
func apiServerArguments(given []string) (arguments []string) {
	if len(given) == 0 || given[0] != "server" {
		log.Fatal("usage: k3s server [--disable=NAMES] [--kube-apiserver-arg=FLAG=VALUE]...")
	}
	for _, flag := range given[1:] {
		if argument, found := strings.CutPrefix(flag, "--kube-apiserver-arg="); found {
			arguments = append(arguments, "--"+argument)
		} else if !strings.HasPrefix(flag, "--disable=") {
			log.Fatal("flag provided but not defined: ", flag)
		}
	}
	return arguments
}

func start(ended chan<- string, name string, arguments ...string) {
	command := exec.Command("/bin/"+name, arguments...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	check(command.Start())
	go func() {
		_ = command.Wait()
		ended <- name
	}()
}

// The certificate authority of servers and clients.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority() *authority {
	made := &authority{}
	made.certificate, made.key = made.issue("ca", x509.Certificate{
		Subject:               pkix.Name{CommonName: "k3s-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	})
	return made
}

// Writes NAME.crt and NAME.key, and returns both. The first certificate signs itself.
func (a *authority) issue(name string, template x509.Certificate) (*x509.Certificate, crypto.Signer) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	issuer, signer := a.certificate, a.key
	if issuer == nil {
		issuer, signer = &template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(0, 0, 30)
	certificate, err := x509.CreateCertificate(rand.Reader, &template, issuer, key.Public(), signer)
	check(err)
	made, err := x509.ParseCertificate(certificate)
	check(err)
	encoded, err := x509.MarshalECPrivateKey(key)
	check(err)
	check(os.WriteFile(in(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600))
	check(os.WriteFile(in(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), 0o600))
	return made, key
}

func (a *authority) waitUntilReady() {
	authorities := x509.NewCertPool()
	authorities.AddCert(a.certificate)
	trust := &tls.Config{RootCAs: authorities}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: trust}, Timeout: 5 * time.Second}
	for {
		answer, err := client.Get("https://127.0.0.1:6443/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func writeKubeconfig() error {
	encoded := func(file string) string {
		content, err := os.ReadFile(in(file))
		check(err)
		return base64.StdEncoding.EncodeToString(content)
	}
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://127.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
users:
- name: default
  user:
    client-certificate-data: %s
    client-key-data: %s
`, encoded("ca.crt"), encoded("admin.crt"), encoded("admin.key"))
	return os.WriteFile(kubeconfig, []byte(text), 0o600)
}

func in(file string) string { return filepath.Join(state, file) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
