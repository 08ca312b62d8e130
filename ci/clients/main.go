// Clients as controllers are: client-go and controller-runtime on a hub.
//
// A hub that is not a kube-apiserver has to be one to these libraries. This program does with them what a cluster
// manager and other controllers do, in its own namespace, and checks the results:
//
//	clients KUBECONFIG [PART]...
//
// Each part that is as expected is a line `ok PART`; for one that is not, the program ends with 1 and says what was not
// seen. The hub must serve ClusterProfiles; the kubeconfig's user must be allowed everything.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	inventory "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// How long the whole program may take.
	limit = 30 * time.Second
	// How long something that has been caused may take to be seen.
	patience = 8 * time.Second
)

// hub is what the parts work on.
type hub struct {
	config    *rest.Config
	core      kubernetes.Interface
	dynamic   dynamic.Interface
	inventory inventory.Interface
	// Made for this run.
	namespace string
}

var parts = []struct {
	name string
	run  func(context.Context, *hub) error
}{
	{"discovery", discover},
	{"writing", writing},
	{"patches", patches},
	{"apply", apply},
	{"lists", lists},
	{"informers", inform},
	{"election", elect},
	{"events", events},
	{"controller", control},
}

func main() {
	// The parts report errors; CLIENTS_LOG also shows what the libraries log.
	if os.Getenv("CLIENTS_LOG") == "" {
		klog.SetLogger(logr.Discard())
	}
	ctrl.SetLogger(klog.Background())
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: clients KUBECONFIG [PART]...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string, wanted []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	hub, err := connect(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer hub.leave()
	var failed []error
	for _, part := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, part.name) {
			continue
		}
		began := time.Now()
		if err := part.run(ctx, hub); err != nil {
			failed = append(failed, fmt.Errorf("failed %s: %w", part.name, err))
			continue
		}
		fmt.Printf("ok %s in %d ms\n", part.name, time.Since(began).Milliseconds())
	}
	return errors.Join(failed...)
}

func connect(ctx context.Context, kubeconfig string) (*hub, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("failed to read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 500, 500
	// The lab's API server refuses protobuf, which controller-runtime sends for built-in kinds by default.
	config.ContentType = "application/json"
	hub := &hub{config: config}
	if hub.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if hub.inventory, err = inventory.NewForConfig(config); err != nil {
		return nil, err
	}
	if hub.core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-"}}
	made, err := hub.core.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to create a namespace: %w", err)
	}
	hub.namespace = made.Name
	return hub, nil
}

// leave takes away what the run has made.
func (h *hub) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = h.core.CoreV1().Namespaces().Delete(ctx, h.namespace, metav1.DeleteOptions{})
}

// profile is a ClusterProfile that does not exist yet.
func (h *hub) profile(name string, labels map[string]string) *profiles.ClusterProfile {
	return &profiles.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name, Labels: labels},
		Spec: profiles.ClusterProfileSpec{
			DisplayName:    name,
			ClusterManager: profiles.ClusterManager{Name: "clients"},
		},
	}
}

// configMap is a ConfigMap that does not exist yet.
func (h *hub) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}, Data: data}
}

// eventually waits until it is so.
func eventually(ctx context.Context, what string, so func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, so); err != nil {
		return fmt.Errorf("%s was not seen: %w", what, err)
	}
	return nil
}

// expect complains of what is not as it was expected.
func expect[T comparable](what string, seen, wanted T) error {
	if seen != wanted {
		return fmt.Errorf("%s: expected %v, saw %v", what, wanted, seen)
	}
	return nil
}

// first is the first error of several.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
