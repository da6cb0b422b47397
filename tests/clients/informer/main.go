// Watches ConfigMaps of one namespace with client-go's reflector, as every informer does, and prints what it was told:
//
//	informer KUBECONFIG NAMESPACE
//	SYNCED
//	ADD name resourceVersion
//	UPDATE name resourceVersion
//	DELETE name resourceVersion
//
// It goes on until it is killed. tests/e2e/test_clients.py restarts the server under it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
)

const faster = 50

// A reflector waits up to half a minute between tries when its server went away often; twenty restarts in a row would
// take ten minutes. This clock runs its timers faster and changes nothing else.
type hastyClock struct{ clock.RealClock }

type hastyTimer struct{ clock.Timer }

func (hastyClock) NewTimer(wait time.Duration) clock.Timer {
	return hastyTimer{clock.RealClock{}.NewTimer(wait / faster)}
}

func (timer hastyTimer) Reset(wait time.Duration) bool {
	return timer.Timer.Reset(wait / faster)
}

func fail(problem error) {
	if problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
}

func say(word string, object any) {
	if unknown, is := object.(cache.DeletedFinalStateUnknown); is {
		object = unknown.Obj
	}
	found := object.(*core.ConfigMap)
	if found.Name != "kube-root-ca.crt" {
		fmt.Println(word, found.Name, found.ResourceVersion)
	}
}

// What an informer does with the deltas of an object: its store follows, and the handlers hear of it.
func follow(known cache.Store, deltas cache.Deltas) error {
	for _, delta := range deltas {
		before, exists, problem := known.Get(delta.Object)
		if problem != nil {
			return problem
		}
		switch {
		case delta.Type == cache.Deleted:
			fail(known.Delete(delta.Object))
			say("DELETE", delta.Object)
		case !exists:
			fail(known.Add(delta.Object))
			say("ADD", delta.Object)
		default:
			fail(known.Update(delta.Object))
			// A relist tells what is already known again; that is no event.
			if before.(*core.ConfigMap).ResourceVersion != delta.Object.(*core.ConfigMap).ResourceVersion {
				say("UPDATE", delta.Object)
			}
		}
	}
	return nil
}

func main() {
	config, problem := clientcmd.BuildConfigFromFlags("", os.Args[1])
	fail(problem)
	client, problem := kubernetes.NewForConfig(config)
	fail(problem)
	known := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", os.Args[2], fields.Everything())
	reflector := cache.NewReflectorWithOptions(source, &core.ConfigMap{}, queue, cache.ReflectorOptions{Clock: hastyClock{}})
	go reflector.RunWithContext(context.Background())
	synced := false
	for {
		_, problem := queue.Pop(func(deltas any, _ bool) error { return follow(known, deltas.(cache.Deltas)) })
		fail(problem)
		if !synced && queue.HasSynced() {
			synced = true
			fmt.Println("SYNCED")
		}
	}
}
