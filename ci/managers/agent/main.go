// Registration agents of Open Cluster Management, as far as their hub sees them, for a hundred members at a time.
//
// ocm-placement judges what a scheduler makes of many clusters. So many real API servers and agents fit on no machine of
// a workflow; its members are fake members of the suite. This program polls them and reports to the hub
// what the agent would: ocm.go says what, and when. Where a member itself is judged, the real agents run (../member).
//
// Members come and go with the files NAME.kubeconfig of a folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	suffix = ".kubeconfig"
	// How often the folder is read.
	folderPeriod = 200 * time.Millisecond
	// A member that answers no sooner is down.
	patience = 2 * time.Second
)

func main() {
	hub := flag.String("hub", "", "the hub's kubeconfig")
	folder := flag.String("members", "", "the folder with a file NAME.kubeconfig for each member")
	flag.Parse()
	log.SetFlags(log.LUTC | log.Ltime)
	if err := run(*hub, *folder); err != nil {
		log.Fatal(err)
	}
}

func run(hub, folder string) error {
	config, err := clientcmd.BuildConfigFromFlags("", hub)
	if err != nil {
		return fmt.Errorf("failed to read --hub: %w", err)
	}
	// Each agent has a client of its own; this one speaks for all.
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "member-agents"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return follow(ctx, folder, &ocm{hub: client, renewed: map[string]time.Time{}})
}

// follow starts an agent for each file that comes, and ends it with its file.
func follow(ctx context.Context, folder string, reports *ocm) error {
	agents := map[string]context.CancelFunc{}
	for {
		paths, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), suffix)
			there[name] = true
			if agents[name] == nil {
				agent, cancel := context.WithCancel(ctx)
				agents[name] = cancel
				go attend(agent, path, name, reports)
			}
		}
		for name, cancel := range agents {
			if !there[name] {
				cancel()
				delete(agents, name)
			}
		}
		if !pause(ctx, folderPeriod) {
			return nil
		}
	}
}

// attend is one agent.
func attend(ctx context.Context, path, name string, reports *ocm) {
	member, err := newMember(path)
	if err != nil {
		log.Printf("%s: no agent: %v", name, err)
		return
	}
	for {
		next, err := reports.report(ctx, name, member)
		if err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", name, err)
		}
		if !pause(ctx, next) {
			return
		}
	}
}

// pause waits; it tells whether there is reason to go on.
func pause(ctx context.Context, period time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(period):
		return true
	}
}

// memberConfig reads the way to a member from a file that may have been written this moment.
func memberConfig(path string) (*rest.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	config.Timeout = patience
	return config, nil
}

// clusterProperties are the about API's (KEP-2149), which name and describe a cluster from within.
var clusterProperties = schema.GroupVersionResource{Group: "about.k8s.io", Version: "v1beta1", Resource: "clusterproperties"}

// member is a cluster as its agent sees it.
type member struct {
	typed   *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

func newMember(path string) (*member, error) {
	config, err := memberConfig(path)
	if err != nil {
		return nil, err
	}
	typed, other, err := clients(config)
	if err != nil {
		return nil, err
	}
	return &member{typed: typed, dynamic: other}, nil
}

// clients are one for the kinds that client-go knows, and one for all kinds.
func clients(config *rest.Config) (*kubernetes.Clientset, *dynamic.DynamicClient, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	other, err := dynamic.NewForConfig(config)
	return typed, other, err
}

// check asks one of the health endpoints; it fails with the reason why the member is not well.
func (m *member) check(ctx context.Context, endpoint string) error {
	code := 0
	answer := m.typed.Discovery().RESTClient().Get().AbsPath(endpoint).Do(ctx).StatusCode(&code)
	if code == 200 {
		return nil
	}
	if err := answer.Error(); err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	return fmt.Errorf("%s: status code %d", endpoint, code)
}

// version is what the member says of itself, such as v1.35.0.
func (m *member) version() (string, error) {
	info, err := m.typed.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

func (m *member) nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := m.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// properties are the member's ClusterProperties by name; none where it has no such API.
func (m *member) properties(ctx context.Context) (map[string]string, error) {
	list, err := m.dynamic.Resource(clusterProperties).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nothingThere(err)
	}
	found := map[string]string{}
	for _, item := range list.Items {
		value, _, _ := unstructured.NestedString(item.Object, "spec", "value")
		found[item.GetName()] = value
	}
	return found, nil
}

// sum adds up a resource list over nodes.
func sum(nodes []corev1.Node, of func(*corev1.Node) corev1.ResourceList) map[string]any {
	total := corev1.ResourceList{}
	for i := range nodes {
		for name, amount := range of(&nodes[i]) {
			soFar := total[name]
			soFar.Add(amount)
			total[name] = soFar
		}
	}
	amounts := map[string]any{}
	for name, amount := range total {
		amounts[string(name)] = amount.String()
	}
	return amounts
}

func capacity(node *corev1.Node) corev1.ResourceList { return node.Status.Capacity }

func allocatable(node *corev1.Node) corev1.ResourceList { return node.Status.Allocatable }
