package main

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	configure "k8s.io/client-go/applyconfigurations/core/v1"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
)

// patches sends each kind of patch that is not an apply.
func patches(ctx context.Context, hub *hub) error {
	client := hub.inventory.ApisV1alpha1().ClusterProfiles(hub.namespace)
	if _, err := client.Create(ctx, hub.profile("patched", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	send := func(kind types.PatchType, patch string, below ...string) (*profiles.ClusterProfile, error) {
		return client.Patch(ctx, "patched", kind, []byte(patch), metav1.PatchOptions{}, below...)
	}
	merged, err := send(types.MergePatchType, `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"displayName":null}}`)
	if err != nil {
		return err
	}
	replaced, err := send(types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/a","value":"1"},{"op":"remove","path":"/metadata/labels/b"}]`)
	if err != nil {
		return err
	}
	status, err := send(types.MergePatchType, `{"metadata":{"labels":{"a":"2"}},"status":{"version":{"kubernetes":"v1.34.0"}}}`, "status")
	if err != nil {
		return err
	}
	_, failed := send(types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/a","value":"3"}]`)
	_, strategic := send(types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"3"}}}`)

	maps := hub.core.CoreV1().ConfigMaps(hub.namespace)
	if _, err := maps.Create(ctx, hub.configMap("patched", map[string]string{"a": "1", "b": "2"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	text, err := maps.Patch(ctx, "patched", types.StrategicMergePatchType, []byte(`{"data":{"a":null,"c":"3"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return first(
		expect("a label that was merged", merged.Labels["b"], "2"),
		expect("a field that was taken away", merged.Spec.DisplayName, ""),
		expect("labels after a JSON patch", len(replaced.Labels), 1),
		expect("the version in the status", status.Status.Version.Kubernetes, "v1.34.0"),
		expect("a label next to a status", status.Labels["a"], "1"),
		expect("a test that fails is invalid", apierrors.IsInvalid(failed), true),
		expect("strategic patches are not for custom resources", apierrors.IsUnsupportedMediaType(strategic), true),
		expect("what a strategic patch leaves", len(text.Data), 2),
		expect("what a strategic patch adds", text.Data["c"], "3"),
	)
}

// apply has two managers apply to one object.
func apply(ctx context.Context, hub *hub) error {
	client := hub.dynamic.Resource(profilesResource).Namespace(hub.namespace)
	wanted := func(labels map[string]any, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": profiles.GroupVersion.String(), "kind": profiles.Kind,
			"metadata": map[string]any{"name": "applied", "namespace": hub.namespace, "labels": labels},
			"spec":     spec,
		}}
	}
	manager := map[string]any{"name": "clients"}
	as := func(name string, force bool) metav1.ApplyOptions {
		return metav1.ApplyOptions{FieldManager: name, Force: force}
	}
	_, err := client.Apply(ctx, "applied", wanted(map[string]any{"a": "1", "b": "1"}, map[string]any{"clusterManager": manager, "displayName": "one"}), as("one", false))
	if err != nil {
		return err
	}
	others := wanted(map[string]any{"c": "2"}, map[string]any{"clusterManager": manager, "displayName": "two"})
	_, conflict := client.Apply(ctx, "applied", others, as("two", false))
	if err := expect("a field of another's is a conflict", apierrors.IsConflict(conflict), true); err != nil {
		return err
	}
	if _, err := client.Apply(ctx, "applied", others, as("two", true)); err != nil {
		return err
	}
	// Fields that the first applier drops are removed, unless another manager owns them too.
	less, err := client.Apply(ctx, "applied", wanted(map[string]any{"a": "1"}, map[string]any{"clusterManager": manager}), as("one", false))
	if err != nil {
		return err
	}
	status := wanted(nil, nil)
	delete(status.Object, "spec")
	status.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Joined", "status": "True", "reason": "Applied", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
	}}}
	applied, err := client.ApplyStatus(ctx, "applied", status, as("two", false))
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(applied.Object, "status", "conditions")
	if err != nil {
		return err
	}
	name, _, err := unstructured.NestedString(less.Object, "spec", "displayName")
	if err != nil {
		return err
	}
	owners := map[string]bool{}
	for _, entry := range applied.GetManagedFields() {
		owners[string(entry.Operation)+" "+entry.Manager+" "+entry.Subresource] = true
	}

	maps := hub.core.CoreV1().ConfigMaps(hub.namespace)
	text := configure.ConfigMap("applied", hub.namespace).WithData(map[string]string{"a": "1"})
	if _, err := maps.Apply(ctx, text, as("one", false)); err != nil {
		return err
	}
	again, err := maps.Apply(ctx, text, as("one", false))
	if err != nil {
		return err
	}
	return first(
		expect("the conflict names the other", strings.Contains(conflict.Error(), `conflict with "one"`), true),
		expect("labels of both", len(less.GetLabels()), 2),
		expect("the name of who took it", name, "two"),
		expect("conditions", len(conditions), 1),
		expect("the first is an owner", owners["Apply one "], true),
		expect("the second is an owner", owners["Apply two "], true),
		expect("the second is an owner of the status", owners["Apply two status"], true),
		expect("data of a ConfigMap", again.Data["a"], "1"),
	)
}
