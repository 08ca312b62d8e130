package fleet_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/clusterprofile-conformance/clusterprofile-conformance/go/internal/envtest/hangar"
)

// faultVariable names a fault of hangar.
const faultVariable = "HANGAR_FAULT"

var (
	// cfg is the hub.
	cfg *rest.Config
	// hub is what cfg leads to.
	hub *envtest.Environment
)

func TestMain(m *testing.M) {
	code, err := onHub(m.Run)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

// onHub runs tests on a hub with hangar on it.
func onHub(run func() int) (code int, err error) {
	ctrl.SetLogger(logr.Discard())
	hub = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "..", "src", "lab", "crds")},
		ErrorIfCRDPathMissing: true,
	}
	if cfg, err = hub.Start(); err != nil {
		return 0, fmt.Errorf("failed to start a hub (ci/envtest/build makes its programs; KUBEBUILDER_ASSETS names their folder): %w", err)
	}
	defer func() {
		if stopped := hub.Stop(); err == nil {
			err = stopped
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := startHangar(ctx, os.Getenv(faultVariable)); err != nil {
		return 0, err
	}
	return run(), nil
}

// startHangar starts the manager, registers three members and waits until they are published.
func startHangar(ctx context.Context, fault string) error {
	scheme, err := hangar.NewScheme()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	reconciler := &hangar.Reconciler{Client: manager.GetClient(), Authority: cfg.CAData}
	if fault != "" {
		if reconciler.Fault = hangar.Faults[fault]; reconciler.Fault == nil {
			return fmt.Errorf("hangar has no fault %q", fault)
		}
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			log.Print(err)
		}
	}()
	writer, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := writer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}); err != nil {
		return err
	}
	members := []string{"lisbon", "porto", "seville"}
	for _, name := range members {
		member := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name, Labels: map[string]string{hangar.MemberLabel: ""}},
			Data:       map[string]string{"version": "v1.34.2", "nodes": "3"},
		}
		if err := writer.Create(ctx, member); err != nil {
			return err
		}
	}
	return published(ctx, writer, len(members))
}

// published waits until so many profiles have a status.
func published(ctx context.Context, reader client.WithWatch, members int) error {
	changes, err := reader.Watch(ctx, &profiles.ClusterProfileList{}, client.InNamespace("fleet"))
	if err != nil {
		return err
	}
	defer changes.Stop()
	reported := make(map[string]bool)
	for change := range changes.ResultChan() {
		if profile, ok := change.Object.(*profiles.ClusterProfile); ok && len(profile.Status.Conditions) > 0 {
			reported[profile.Name] = true
		}
		if len(reported) == members {
			return nil
		}
	}
	return fmt.Errorf("hangar published %d of %d members", len(reported), members)
}
