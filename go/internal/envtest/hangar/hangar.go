// Package hangar is a small cluster manager, as a user of the package conformance writes one.
//
// A ConfigMap with the label [MemberLabel] registers a member cluster. For each of them, hangar publishes a
// ClusterProfile in the ConfigMap's namespace.
package hangar

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	profiles "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	// Name is the cluster manager's name.
	Name = "hangar"
	// MemberLabel marks the ConfigMaps that register members.
	MemberLabel = "hangar.example/member"

	memberID = "multicluster.x-k8s.io/inventory-member-id"
)

// A Fault breaks what hangar publishes.
type Fault func(*profiles.ClusterProfile)

// Faults are ways to break one rule each; the keys are the rules' ids.
var Faults = map[string]Fault{
	"identity/manager-label-matches": func(profile *profiles.ClusterProfile) {
		profile.Labels[profiles.LabelClusterManagerKey] = "somebody-else"
	},
	"version/well-formed": func(profile *profiles.ClusterProfile) {
		profile.Status.Version.Kubernetes = "latest"
	},
	"access/no-secrets": func(profile *profiles.ClusterProfile) {
		for place := range profile.Status.AccessProviders {
			profile.Status.AccessProviders[place].Cluster.Extensions = []clientcmdv1.NamedExtension{{
				Name:      "hangar.example/login",
				Extension: runtime.RawExtension{Raw: []byte(`{"password": "correct-horse-battery"}`)},
			}}
		}
	},
}

// Warns reports whether the rule of a fault is a SHOULD, which does not make a manager fail.
func Warns(fault string) bool { return fault == "version/well-formed" }

// NeedsWatch reports whether the rule of a fault has a grace period: objects as young as those of a test have to be
// watched for longer than that.
func NeedsWatch(fault string) bool { return fault != "access/no-secrets" }

// Reconciler publishes a ClusterProfile for each registered member.
type Reconciler struct {
	client.Client
	// The certificate authority of the members' API servers, in PEM.
	Authority []byte
	// What to break; nil for nothing.
	Fault Fault
}

// NewScheme returns a scheme with the types that hangar reads and writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, profiles.AddToScheme(scheme)
}

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	members, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: MemberLabel, Operator: metav1.LabelSelectorOpExists}},
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}, builder.WithPredicates(members)).Complete(r)
}

// Reconcile publishes one member. It writes only what differs: status writes are on a budget.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var member corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &member); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	profile := &profiles.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: member.Namespace, Name: Name + "-" + member.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, profile, func() error {
		r.describe(profile, &member)
		return controllerutil.SetControllerReference(&member, profile, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("failed to publish %s: %w", profile.Name, err)
	}
	published := profile.DeepCopy()
	r.report(profile, &member)
	if equality.Semantic.DeepEqual(published.Status, profile.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, profile)
}

// describe sets metadata and spec.
func (r *Reconciler) describe(profile *profiles.ClusterProfile, member *corev1.ConfigMap) {
	if profile.Labels == nil {
		profile.Labels = make(map[string]string)
	}
	profile.Labels[profiles.LabelClusterManagerKey] = Name
	profile.Labels[memberID] = member.Name
	profile.Spec.ClusterManager.Name = Name
	profile.Spec.DisplayName = "Cluster " + member.Name
	r.spoil(profile)
}

// report sets the status.
func (r *Reconciler) report(profile *profiles.ClusterProfile, member *corev1.ConfigMap) {
	status := &profile.Status
	status.Version.Kubernetes = member.Data["version"]
	endpoint := member.Name + ".members.example:6443"
	seen := metav1.NewTime(member.CreationTimestamp.Time)
	status.Properties = []profiles.Property{
		{Name: "cluster-endpoints.k8s.io", Value: fmt.Sprintf("[%q]", endpoint), LastObservedTime: seen},
		{Name: "count.node.k8s.io", Value: member.Data["nodes"], LastObservedTime: seen},
	}
	status.AccessProviders = []profiles.AccessProvider{{
		Name:    "hangar-login",
		Cluster: clientcmdv1.Cluster{Server: "https://" + endpoint, CertificateAuthorityData: r.Authority},
	}}
	for _, condition := range []string{profiles.ClusterConditionControlPlaneHealthy, "Joined"} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "Reachable", Message: "the member answers",
			ObservedGeneration: profile.Generation,
		})
	}
	r.spoil(profile)
}

// spoil applies the fault to what there is of a profile.
func (r *Reconciler) spoil(profile *profiles.ClusterProfile) {
	if r.Fault != nil {
		r.Fault(profile)
	}
}
