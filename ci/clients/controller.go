package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	newevents "k8s.io/client-go/tools/events"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "clients.example.com/tidy"

// reconciler is a small cluster manager: it reports each ClusterProfile as healthy, keeps a ConfigMap for it, and
// takes its leave of those that go.
type reconciler struct {
	client.Client
	events newevents.EventRecorder
}

// Reconcile reconciles one ClusterProfile.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var profile profiles.ClusterProfile
	if err := r.Get(ctx, request.NamespacedName, &profile); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := profile.DeepCopy()
	if !profile.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(&profile, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, &profile, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(&profile, finalizer) {
		locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return ctrl.Result{}, r.Patch(ctx, &profile, locked)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: profile.Namespace, Name: profile.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Data = map[string]string{"displayName": profile.Spec.DisplayName}
		return controllerutil.SetControllerReference(&profile, owned, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&profile.Status.Conditions, metav1.Condition{
		Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue, Reason: "Reachable",
		ObservedGeneration: profile.Generation,
	})
	if !changed {
		return ctrl.Result{}, nil
	}
	profile.Status.Version.Kubernetes = "v1.34.2"
	if err := r.Status().Update(ctx, &profile); err != nil {
		return ctrl.Result{}, err
	}
	r.events.Eventf(&profile, nil, corev1.EventTypeNormal, "Reported", "Report", "reported generation %d", profile.Generation)
	return ctrl.Result{}, nil
}

// control runs the reconciler in a manager that leads by a Lease, and does to it what users do.
func control(ctx context.Context, hub *hub) error {
	scheme := runtime.NewScheme()
	if err := first(clientscheme.AddToScheme(scheme), profiles.AddToScheme(scheme)); err != nil {
		return err
	}
	grace := time.Second
	manager, err := ctrl.NewManager(hub.config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{hub.namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		GracefulShutdownTimeout:       &grace,
		LeaderElection:                true,
		LeaderElectionID:              "controller",
		LeaderElectionNamespace:       hub.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&profiles.ClusterProfile{}).
		Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{Client: manager.GetClient(), events: manager.GetEventRecorder("clients")})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()

	writer, err := client.New(hub.config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := observe(ctx, hub, writer); err != nil {
		return err
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the manager failed: %w", err)
		}
	case <-time.After(patience):
		return fmt.Errorf("the manager does not end")
	}
	lease, err := hub.core.CoordinationV1().Leases(hub.namespace).Get(ctx, "controller", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		return fmt.Errorf("the Lease is still held by %s", *holder)
	}
	return nil
}

// observe writes as a user, and waits for what the controller makes of it.
func observe(ctx context.Context, hub *hub, writer client.Client) error {
	profile := hub.profile("controlled", nil)
	key := types.NamespacedName{Namespace: hub.namespace, Name: profile.Name}
	if err := writer.Create(ctx, profile); err != nil {
		return err
	}
	reported := func(generation int64) error {
		return eventually(ctx, fmt.Sprintf("the report on generation %d", generation), func(ctx context.Context) (bool, error) {
			if err := writer.Get(ctx, key, profile); err != nil {
				return false, err
			}
			found := meta.FindStatusCondition(profile.Status.Conditions, "ControlPlaneHealthy")
			return found != nil && found.ObservedGeneration == generation && found.Status == metav1.ConditionTrue, nil
		})
	}
	kept := func(name string) error {
		return eventually(ctx, "the ConfigMap with "+name, func(ctx context.Context) (bool, error) {
			var owned corev1.ConfigMap
			err := writer.Get(ctx, key, &owned)
			return err == nil && owned.Data["displayName"] == name && metav1.IsControlledBy(&owned, profile), client.IgnoreNotFound(err)
		})
	}
	if err := first(reported(1), kept("controlled")); err != nil {
		return err
	}
	before := profile.DeepCopy()
	profile.Spec.DisplayName = "another name"
	if err := writer.Patch(ctx, profile, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := first(reported(2), kept("another name")); err != nil {
		return err
	}
	// It restores an owned object that another client changed.
	owned := hub.configMap(key.Name, nil)
	if err := writer.Delete(ctx, owned); err != nil {
		return err
	}
	if err := kept("another name"); err != nil {
		return err
	}
	err := eventually(ctx, "the controller's Events", func(ctx context.Context) (bool, error) {
		list, err := hub.core.EventsV1().Events(hub.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Reported"})
		if err != nil {
			return false, err
		}
		for _, event := range list.Items {
			if event.Regarding.UID == profile.UID && event.Note == "reported generation 2" {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if err := writer.Delete(ctx, profile); err != nil {
		return err
	}
	return eventually(ctx, "that the ClusterProfile goes", func(ctx context.Context) (bool, error) {
		err := writer.Get(ctx, key, profile)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
