package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// lists reads in pages, by labels and by fields, and deletes by label.
func lists(ctx context.Context, hub *hub) error {
	client := hub.inventory.ApisV1alpha1().ClusterProfiles(hub.namespace)
	for number := range 7 {
		profile := hub.profile(fmt.Sprintf("listed-%d", number), map[string]string{"listed": fmt.Sprint(number % 2)})
		if _, err := client.Create(ctx, profile, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	pages := 0
	read := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		options.LabelSelector = "listed"
		return client.List(ctx, options)
	}
	listed := 0
	byPages := &pager.ListPager{PageSize: 3, PageFn: read}
	err := byPages.EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error {
		listed++
		return nil
	})
	if err != nil {
		return err
	}
	named, err := client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=listed-3"})
	if err != nil {
		return err
	}
	even := metav1.ListOptions{LabelSelector: "listed in (0)"}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, even); err != nil {
		return err
	}
	left, err := client.List(ctx, metav1.ListOptions{LabelSelector: "listed"})
	if err != nil {
		return err
	}
	_, unselectable := client.List(ctx, metav1.ListOptions{FieldSelector: "spec.displayName=x"})
	return first(
		expect("pages", pages, 3),
		expect("objects in all pages", listed, 7),
		expect("objects of a name", len(named.Items), 1),
		expect("objects that are left", len(left.Items), 3),
		expect("a field that is not for selecting is refused", apierrors.IsBadRequest(unselectable), true),
	)
}

// diary holds the events of an informer, without resyncs.
type diary struct {
	mutex sync.Mutex
	lines []string
	// How many updates brought nothing new.
	resyncs int
}

func (d *diary) note(what string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.lines = append(d.lines, what+" "+accessor.GetName())
}

func (d *diary) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { d.note("add", object) },
		UpdateFunc: func(before, after any) {
			older, errOlder := meta.Accessor(before)
			newer, errNewer := meta.Accessor(after)
			if errOlder == nil && errNewer == nil && older.GetResourceVersion() == newer.GetResourceVersion() {
				d.mutex.Lock()
				d.resyncs++
				d.mutex.Unlock()
				return
			}
			d.note("update", after)
		},
		DeleteFunc: func(object any) { d.note("delete", object) },
	}
}

// expect waits until it holds exactly these lines.
func (d *diary) expect(ctx context.Context, who string, wanted ...string) error {
	var seen []string
	err := eventually(ctx, who+" reporting "+strings.Join(wanted, ", "), func(context.Context) (bool, error) {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		seen = slices.Clone(d.lines)
		return slices.Equal(seen, wanted), nil
	})
	if err != nil {
		return fmt.Errorf("%w; got: %s", err, strings.Join(seen, ", "))
	}
	return nil
}

// inform has informers follow ClusterProfiles, those of a label, and ConfigMaps.
func inform(ctx context.Context, hub *hub) error {
	client := hub.inventory.ApisV1alpha1().ClusterProfiles(hub.namespace)
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	if _, err := client.Create(ctx, hub.profile("early", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	// Ends before the program does: an informer that is ended late would be seen by the parts that follow.
	following, stop := context.WithCancel(ctx)
	defer stop()
	var all, selected, maps diary
	const resync = time.Second
	everything := dynamicinformer.NewFilteredDynamicSharedInformerFactory(hub.dynamic, resync, hub.namespace, nil)
	byLabel := func(options *metav1.ListOptions) { options.LabelSelector = "watched=yes" }
	some := dynamicinformer.NewFilteredDynamicSharedInformerFactory(hub.dynamic, 0, hub.namespace, byLabel)
	core := informers.NewSharedInformerFactoryWithOptions(hub.core, 0, informers.WithNamespace(hub.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=watched" }))
	for _, follow := range []struct {
		informer cache.SharedIndexInformer
		diary    *diary
	}{
		{everything.ForResource(profilesResource).Informer(), &all},
		{some.ForResource(profilesResource).Informer(), &selected},
		{core.Core().V1().ConfigMaps().Informer(), &maps},
	} {
		if _, err := follow.informer.AddEventHandler(follow.diary.handler()); err != nil {
			return err
		}
		go follow.informer.Run(following.Done())
		if !cache.WaitForCacheSync(ctx.Done(), follow.informer.HasSynced) {
			return fmt.Errorf("an informer does not get its list")
		}
	}

	label := func(value string) error {
		patch := []byte(`{"metadata":{"labels":{"watched":` + value + `}}}`)
		_, err := client.Patch(ctx, "early", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	coreMaps := hub.core.CoreV1().ConfigMaps(hub.namespace)
	err := first(label(`"yes"`), label(`null`))
	if err != nil {
		return err
	}
	if _, err := client.Create(ctx, hub.profile("late", map[string]string{"watched": "yes"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"ignored", "watched"} {
		if _, err := coreMaps.Create(ctx, hub.configMap(name, nil), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := client.Delete(ctx, "late", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return first(
		all.expect(ctx, "the informer of all", "add early", "update early", "update early", "add late", "delete late"),
		selected.expect(ctx, "the informer of a label", "add early", "delete early", "add late", "delete late"),
		maps.expect(ctx, "the informer of ConfigMaps", "add watched"),
		eventually(ctx, "a resync", func(context.Context) (bool, error) {
			all.mutex.Lock()
			defer all.mutex.Unlock()
			return all.resyncs > 0, nil
		}),
	)
}
