package main

import (
	"context"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// kubefleet reports as KubeFleet's member agent does, without a property provider
// (pkg/controllers/internalmembercluster/v1beta1 of its repository). Into the status of the InternalMemberCluster, every
// spec.heartbeatPeriodSeconds:
//
//   - agentStatus of the MemberAgent: the heartbeat, Joined, and Healthy after the member's /readyz;
//   - the node count as a property, and the capacity;
//   - when the hub wants the member to leave: Joined is False.
//
// The agent without a property provider tells no version; the hub's controller shows one only where it is told.
type kubefleet struct {
	hub dynamic.Interface
}

const (
	memberAgent = "MemberAgent"
	nodeCount   = "kubernetes-fleet.io/node-count"
	// How often it is looked whether the hub wants something, or a heartbeat is due.
	fleetPeriod = time.Second
)

var internalMemberClusters = schema.GroupVersionResource{
	Group: "cluster.kubernetes-fleet.io", Version: "v1beta1", Resource: "internalmemberclusters",
}

func (k *kubefleet) report(ctx context.Context, name string, member *member) (time.Duration, error) {
	of := k.hub.Resource(internalMemberClusters).Namespace("fleet-member-" + name)
	_, err := alter(ctx, of, name, func(cluster *unstructured.Unstructured, status map[string]any) error {
		generation := cluster.GetGeneration()
		agent := agentStatus(status)
		state, _, _ := unstructured.NestedString(cluster.Object, "spec", "state")
		if state != "Join" {
			return setCondition(agent, metav1.Condition{
				Type: "Joined", Status: metav1.ConditionFalse, Reason: "InternalMemberClusterLeft",
				ObservedGeneration: generation,
			})
		}
		if beats(cluster, agent) {
			return nil
		}
		agent["lastReceivedHeartbeat"] = metav1.Now().UTC().Format(time.RFC3339)
		health := metav1.Condition{
			Type: "Healthy", Status: metav1.ConditionTrue, Reason: "InternalMemberClusterHealthy",
			ObservedGeneration: generation,
		}
		if err := member.check(ctx, "/readyz"); err != nil {
			health.Status, health.Reason = metav1.ConditionFalse, "InternalMemberClusterUnhealthy"
			health.Message = err.Error()
		} else if err := resources(ctx, member, status); err != nil {
			return err
		}
		if err := setCondition(agent, health); err != nil {
			return err
		}
		return setCondition(agent, metav1.Condition{
			Type: "Joined", Status: metav1.ConditionTrue, Reason: "InternalMemberClusterJoined",
			ObservedGeneration: generation,
		})
	})
	return fleetPeriod, err
}

// beats tells whether the last heartbeat is younger than the hub's period.
func beats(cluster *unstructured.Unstructured, agent map[string]any) bool {
	seconds, _, _ := unstructured.NestedInt64(cluster.Object, "spec", "heartbeatPeriodSeconds")
	told, _ := agent["lastReceivedHeartbeat"].(string)
	last, err := time.Parse(time.RFC3339, told)
	return err == nil && time.Since(last) < time.Duration(seconds)*time.Second
}

// agentStatus is the member agent's entry, which is made where there is none.
func agentStatus(status map[string]any) map[string]any {
	entries, _ := status["agentStatus"].([]any)
	for _, entry := range entries {
		if agent, is := entry.(map[string]any); is && agent["type"] == memberAgent {
			return agent
		}
	}
	agent := map[string]any{"type": memberAgent}
	status["agentStatus"] = append(entries, agent)
	return agent
}

// resources puts what the member has into the status.
func resources(ctx context.Context, member *member, status map[string]any) error {
	nodes, err := member.nodes(ctx)
	if err != nil {
		return err
	}
	now := metav1.Now().UTC().Format(time.RFC3339)
	status["properties"] = map[string]any{
		nodeCount: map[string]any{"value": strconv.Itoa(len(nodes)), "observationTime": now},
	}
	status["resourceUsage"] = map[string]any{
		"capacity": sum(nodes, capacity), "allocatable": sum(nodes, allocatable), "available": sum(nodes, allocatable),
		"observationTime": now,
	}
	return nil
}
