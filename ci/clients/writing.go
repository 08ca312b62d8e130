package main

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
)

var profilesResource = profiles.GroupVersion.WithResource("clusterprofiles")

// discover reads the API groups, as every controller does on start.
func discover(ctx context.Context, hub *hub) error {
	discovery := hub.core.Discovery()
	version, err := discovery.ServerVersion()
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(discovery)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: profiles.Group, Kind: profiles.Kind}, "v1alpha1")
	if err != nil {
		return err
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: hub.namespace, Verb: "update", Group: profiles.Group, Resource: "clusterprofiles", Subresource: "status",
		},
	}}
	reviews := hub.core.AuthorizationV1().SelfSubjectAccessReviews()
	reviewed, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return first(
		expect("the major version", version.Major, "1"),
		expect("the resource of ClusterProfile", mapping.Resource, profilesResource),
		expect("the scope of ClusterProfile", mapping.Scope.Name(), "namespace"),
		expect("whether it may write statuses", reviewed.Status.Allowed, true),
	)
}

// writing creates, updates and deletes, and meets the errors that controllers tell apart.
func writing(ctx context.Context, hub *hub) error {
	client := hub.inventory.ApisV1alpha1().ClusterProfiles(hub.namespace)
	dry, err := client.Create(ctx, hub.profile("dry", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	_, absent := client.Get(ctx, dry.Name, metav1.GetOptions{})
	made, err := client.Create(ctx, hub.profile("written", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, twice := client.Create(ctx, hub.profile("written", nil), metav1.CreateOptions{})
	moved := made.DeepCopy()
	moved.Spec.ClusterManager.Name = "somebody-else"
	_, immutable := client.Update(ctx, moved, metav1.UpdateOptions{})

	// Somebody else writes in between: the first try is made with what was read before.
	other := made.DeepCopy()
	other.Labels = map[string]string{"by": "another"}
	if _, err := client.Update(ctx, other, metav1.UpdateOptions{}); err != nil {
		return err
	}
	current, tries := made, 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		current.Status.Version.Kubernetes = "v1.34.1"
		_, err := client.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			var reading error
			if current, reading = client.Get(ctx, "written", metav1.GetOptions{}); reading != nil {
				return reading
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	read, err := client.Get(ctx, "written", metav1.GetOptions{})
	if err != nil {
		return err
	}

	maps := hub.core.CoreV1().ConfigMaps(hub.namespace)
	text := hub.configMap("written", map[string]string{"a": "1"})
	text.BinaryData = map[string][]byte{"b": {0, 255}}
	if _, err := maps.Create(ctx, text, metav1.CreateOptions{}); err != nil {
		return err
	}
	kept, err := maps.Get(ctx, "written", metav1.GetOptions{})
	if err != nil {
		return err
	}
	only := func(uid string) metav1.DeleteOptions {
		return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(uid)}
	}
	refused := maps.Delete(ctx, "written", only("another"))
	if err := maps.Delete(ctx, "written", only(string(kept.UID))); err != nil {
		return err
	}
	return first(
		expect("what was only tried is not found", apierrors.IsNotFound(absent), true),
		expect("a second one of the name exists already", apierrors.IsAlreadyExists(twice), true),
		expect("another manager is invalid", apierrors.IsInvalid(immutable), true),
		expect("tries until there was no conflict", tries, 2),
		expect("the version in the status", read.Status.Version.Kubernetes, "v1.34.1"),
		expect("the other's label", read.Labels["by"], "another"),
		expect("the generation after a status alone", read.Generation, made.Generation),
		expect("text in a ConfigMap", kept.Data["a"], "1"),
		expect("bytes in a ConfigMap", fmt.Sprint(kept.BinaryData["b"]), "[0 255]"),
		expect("another UID is a conflict", apierrors.IsConflict(refused), true),
	)
}
