package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
)

// ocm reports as Open Cluster Management's registration agent does (pkg/registration/spoke of its repository):
//
//   - once the hub has accepted the cluster: condition ManagedClusterJoined, and the Lease managed-cluster-lease in the
//     cluster's namespace, renewed every spec.leaseDurationSeconds;
//   - condition ManagedClusterConditionAvailable after the member's /livez, and while that is well the version and the
//     capacity;
//   - claims: the member's ClusterProperties, all of them (the agent's feature gate ClusterProperty, which is off unless
//     an administrator enables it, as is the hub's gate ClusterProfile; ClusterClaims, which are on, do not exist in fake members).
//
// The agent reads the member on informer events and every minute; this program polls it every second, so that
// a run does not have to wait.
type ocm struct {
	hub     dynamic.Interface
	lock    sync.Mutex
	renewed map[string]time.Time
}

const (
	ocmPeriod = time.Second
	leaseName = "managed-cluster-lease"
)

var (
	managedClusters = schema.GroupVersionResource{
		Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters",
	}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// report polls the member and writes changes; the caller repeats it after the returned time.
func (o *ocm) report(ctx context.Context, name string, member *member) (time.Duration, error) {
	cluster, err := alter(ctx, o.hub.Resource(managedClusters), name,
		func(cluster *unstructured.Unstructured, status map[string]any) error {
			if !hasCondition(cluster, "HubAcceptedManagedCluster", metav1.ConditionTrue) {
				return nil
			}
			joined := metav1.Condition{
				Type: "ManagedClusterJoined", Status: metav1.ConditionTrue, Reason: "ManagedClusterJoined",
				Message: "Managed cluster joined",
			}
			if err := setCondition(status, joined); err != nil {
				return err
			}
			return look(ctx, member, status)
		})
	if err != nil || cluster == nil {
		return ocmPeriod, err
	}
	return ocmPeriod, o.renew(ctx, name, cluster)
}

// look puts what is seen of the member into the cluster's status.
func look(ctx context.Context, member *member, status map[string]any) error {
	if err := member.check(ctx, "/livez"); err != nil {
		return setCondition(status, metav1.Condition{
			Type: "ManagedClusterConditionAvailable", Status: metav1.ConditionFalse,
			Reason: "ManagedClusterKubeAPIServerUnavailable", Message: fmt.Sprintf("The kube-apiserver is not ok, %v", err),
		})
	}
	version, err := member.version()
	if err != nil {
		return err
	}
	nodes, err := member.nodes(ctx)
	if err != nil {
		return err
	}
	properties, err := member.properties(ctx)
	if err != nil {
		return err
	}
	status["version"] = map[string]any{"kubernetes": version}
	status["capacity"] = sum(nodes, capacity)
	status["allocatable"] = sum(nodes, allocatable)
	claims := []any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		claims = append(claims, map[string]any{"name": name, "value": properties[name]})
	}
	status["clusterClaims"] = claims
	return setCondition(status, metav1.Condition{
		Type: "ManagedClusterConditionAvailable", Status: metav1.ConditionTrue, Reason: "ManagedClusterAvailable",
		Message: "Managed cluster is available",
	})
}

// renew shows that the agent is alive.
func (o *ocm) renew(ctx context.Context, name string, cluster *unstructured.Unstructured) error {
	if !hasCondition(cluster, "HubAcceptedManagedCluster", metav1.ConditionTrue) {
		return nil
	}
	seconds, _, _ := unstructured.NestedInt64(cluster.Object, "spec", "leaseDurationSeconds")
	if seconds == 0 {
		seconds = 60
	}
	o.lock.Lock()
	last := o.renewed[name]
	o.lock.Unlock()
	if time.Since(last) < time.Duration(seconds)*time.Second {
		return nil
	}
	of := o.hub.Resource(leases).Namespace(name)
	lease, err := of.Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil {
		// The hub makes it when it has accepted the cluster.
		return nothingThere(err)
	}
	now := time.Now()
	renewal := metav1.NewMicroTime(now).UTC().Format(metav1.RFC3339Micro)
	if err := unstructured.SetNestedField(lease.Object, renewal, "spec", "renewTime"); err != nil {
		return err
	}
	if _, err := of.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return err
	}
	o.lock.Lock()
	o.renewed[name] = now
	o.lock.Unlock()
	return nil
}

// nothingThere ignores NotFound errors.
func nothingThere(err error) error {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// alter changes an object's status, and writes a difference. It does nothing if there is no
// such object, and leaves a conflict to the next time.
func alter(
	ctx context.Context,
	of dynamic.ResourceInterface,
	name string,
	change func(object *unstructured.Unstructured, status map[string]any) error,
) (*unstructured.Unstructured, error) {
	object, err := of.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nothingThere(err)
	}
	before, _, _ := unstructured.NestedMap(object.Object, "status")
	after, _, _ := unstructured.NestedMap(object.Object, "status")
	if after == nil {
		after = map[string]any{}
	}
	if err := change(object, after); err != nil {
		return object, err
	}
	if reflect.DeepEqual(before, after) {
		return object, nil
	}
	object.Object["status"] = after
	if _, err := of.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
		return object, err
	}
	return object, nil
}

// setCondition puts a condition into a list of them, which it keeps in its place in `holder`.
func setCondition(holder map[string]any, condition metav1.Condition) error {
	var conditions []metav1.Condition
	if err := convert(holder["conditions"], &conditions); err != nil {
		return err
	}
	meta.SetStatusCondition(&conditions, condition)
	var list []any
	if err := convert(conditions, &list); err != nil {
		return err
	}
	holder["conditions"] = list
	return nil
}

func hasCondition(object *unstructured.Unstructured, kind string, status metav1.ConditionStatus) bool {
	held, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	var conditions []metav1.Condition
	return convert(held, &conditions) == nil && meta.IsStatusConditionPresentAndEqual(conditions, kind, status)
}

// convert goes by way of JSON from one shape to another; whole numbers stay whole.
func convert(from, into any) error {
	if from == nil {
		return nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
