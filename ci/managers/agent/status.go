package main

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
)

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
