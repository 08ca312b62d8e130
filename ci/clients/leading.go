package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// elect has two candidates for one Lease: one leads, and when it goes the other does.
func elect(ctx context.Context, hub *hub) error {
	led := make(chan string, 2)
	candidate := func(name string) (stop func(), err error) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, hub.namespace, "election",
			hub.core.CoreV1(), hub.core.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return nil, err
		}
		running, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true, Name: name,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led <- name },
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			cancel()
			return nil, err
		}
		go func() {
			defer close(ended)
			elector.Run(running)
		}()
		return func() {
			cancel()
			<-ended
		}, nil
	}
	leads := func(wanted string) error {
		select {
		case name := <-led:
			return expect("who leads", name, wanted)
		case <-time.After(patience):
			return fmt.Errorf("%s does not lead", wanted)
		}
	}
	stopFirst, err := candidate("first")
	if err != nil {
		return err
	}
	if err := leads("first"); err != nil {
		return err
	}
	stopSecond, err := candidate("second")
	if err != nil {
		return err
	}
	select {
	case name := <-led:
		return fmt.Errorf("%s leads next to the first", name)
	case <-time.After(time.Second):
	}
	stopFirst()
	if err := leads("second"); err != nil {
		return err
	}
	lease, err := hub.core.CoordinationV1().Leases(hub.namespace).Get(ctx, "election", metav1.GetOptions{})
	if err != nil {
		return err
	}
	stopSecond()
	if lease.Spec.HolderIdentity == nil || lease.Spec.LeaseTransitions == nil || lease.Spec.RenewTime == nil {
		return fmt.Errorf("the Lease lacks its holder, its changes or its time: %v", lease.Spec)
	}
	return first(
		expect("the holder", *lease.Spec.HolderIdentity, "second"),
		expect("how often the Lease changed hands", *lease.Spec.LeaseTransitions, 1),
	)
}

// events records the same event three times, which gives one Event with a count.
func events(ctx context.Context, hub *hub) error {
	client := hub.inventory.ApisV1alpha1().ClusterProfiles(hub.namespace)
	profile, err := client.Create(ctx, hub.profile("eventful", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: hub.core.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clients"})
	about := &corev1.ObjectReference{
		APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ClusterProfile",
		Namespace: profile.Namespace, Name: profile.Name, UID: profile.UID,
	}
	for range 3 {
		recorder.Eventf(about, corev1.EventTypeNormal, "Reported", "reported %s", profile.Name)
	}
	var event corev1.Event
	err = eventually(ctx, "an Event that counts three", func(ctx context.Context) (bool, error) {
		selector := metav1.ListOptions{FieldSelector: "involvedObject.name=eventful,reason=Reported"}
		list, err := hub.core.CoreV1().Events(hub.namespace).List(ctx, selector)
		if err != nil || len(list.Items) != 1 {
			return false, err
		}
		event = list.Items[0]
		return event.Count == 3, nil
	})
	if err != nil {
		return err
	}
	newer, err := hub.core.EventsV1().Events(hub.namespace).Get(ctx, event.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return first(
		expect("the source", event.Source.Component, "clients"),
		expect("the message", event.Message, "reported eventful"),
		expect("the UID of what it is about", event.InvolvedObject.UID, profile.UID),
		expect("the note of the same Event in the newer group", newer.Note, event.Message),
		expect("its count there", newer.DeprecatedCount, event.Count),
	)
}
