package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

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

// clients are one for kinds that are known, and one for others.
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
