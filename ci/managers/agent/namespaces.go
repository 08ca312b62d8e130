package main

import (
	"context"
	"log"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const namespacePeriod = time.Second

// namespaces does what kube-controller-manager's namespace controller does, which a hub of API server and etcd alone
// lacks: it empties namespaces that are deleted, and lets them go. Managers wait for that.
type namespaces struct {
	typed   *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

func newNamespaces(config *rest.Config) (*namespaces, error) {
	typed, other, err := clients(config)
	if err != nil {
		return nil, err
	}
	return &namespaces{typed: typed, dynamic: other}, nil
}

func (n *namespaces) run(ctx context.Context) {
	var kinds []schema.GroupVersionResource
	for pause(ctx, namespacePeriod) {
		list, err := n.typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			namespace := &list.Items[i]
			if namespace.DeletionTimestamp.IsZero() {
				continue
			}
			// CRDs are all there by the time that the first namespace goes.
			if kinds == nil {
				kinds = n.kinds()
			}
			if err := n.empty(ctx, namespace, kinds); err != nil && ctx.Err() == nil {
				log.Printf("namespace %s: %v", namespace.Name, err)
			}
		}
	}
}

// kinds are the resources that a namespace may hold, as far as they can be listed and deleted.
func (n *namespaces) kinds() []schema.GroupVersionResource {
	// What of the groups cannot be read is not there to be deleted.
	lists, _ := n.typed.Discovery().ServerPreferredNamespacedResources()
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists)
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			kinds = append(kinds, version.WithResource(resource.Name))
		}
	}
	return kinds
}

// empty deletes what the namespace holds, and takes its finalizer away once it holds nothing.
func (n *namespaces) empty(ctx context.Context, namespace *corev1.Namespace, kinds []schema.GroupVersionResource) error {
	left := 0
	for _, kind := range kinds {
		of := n.dynamic.Resource(kind).Namespace(namespace.Name)
		held, err := of.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		if len(held.Items) == 0 {
			continue
		}
		left++
		if err := of.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	if left > 0 {
		return nil
	}
	namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(name corev1.FinalizerName) bool {
		return name == corev1.FinalizerKubernetes
	})
	_, err := n.typed.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{})
	return nothingThere(err)
}
