// The member agents of cluster managers, as far as their hubs see them.
//
// A cluster manager learns of its members from agents that run in them. The suite's stand-in members run no workloads,
// so this program looks at them from outside and reports to the hub what the agent would: `--manager ocm` as Open
// Cluster Management's registration agent does, `--manager kubefleet` as KubeFleet's member agent does. What each of
// them writes, and when, is told in ocm.go and kubefleet.go.
//
// Members come and go with the files NAME.kubeconfig of a folder. Besides, it lets deleted namespaces go.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	suffix = ".kubeconfig"
	// How often the folder is read.
	folderPeriod = 200 * time.Millisecond
	// A member that answers no sooner is down.
	patience = 2 * time.Second
)

// reporter tells the hub of one member, as an agent of that member would.
type reporter interface {
	// report looks at the member and writes what is new of it; it is called again after the time that it returns.
	report(ctx context.Context, name string, member *member) (time.Duration, error)
}

func main() {
	manager := flag.String("manager", "", "whose agent to be: ocm or kubefleet")
	hub := flag.String("hub", "", "the hub's kubeconfig")
	folder := flag.String("members", "", "the folder with a file NAME.kubeconfig for each member")
	flag.Parse()
	log.SetFlags(log.LUTC | log.Ltime)
	if err := run(*manager, *hub, *folder); err != nil {
		log.Fatal(err)
	}
}

func run(manager, hub, folder string) error {
	config, err := clientcmd.BuildConfigFromFlags("", hub)
	if err != nil {
		return fmt.Errorf("failed to read --hub: %w", err)
	}
	// Each agent has a client of its own; this one speaks for all.
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "member-agents"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var reports reporter
	switch manager {
	case "ocm":
		reports = &ocm{hub: client, renewed: map[string]time.Time{}}
	case "kubefleet":
		reports = &kubefleet{hub: client}
	default:
		return fmt.Errorf("unknown --manager %q: choose ocm or kubefleet", manager)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	namespaces, err := newNamespaces(config)
	if err != nil {
		return err
	}
	go namespaces.run(ctx)
	return follow(ctx, folder, reports)
}

// follow starts an agent for each file that comes, and ends it with its file.
func follow(ctx context.Context, folder string, reports reporter) error {
	agents := map[string]context.CancelFunc{}
	for {
		paths, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), suffix)
			there[name] = true
			if agents[name] == nil {
				agent, cancel := context.WithCancel(ctx)
				agents[name] = cancel
				go attend(agent, path, name, reports)
			}
		}
		for name, cancel := range agents {
			if !there[name] {
				cancel()
				delete(agents, name)
			}
		}
		if !pause(ctx, folderPeriod) {
			return nil
		}
	}
}

// attend is one agent.
func attend(ctx context.Context, path, name string, reports reporter) {
	member, err := newMember(path)
	if err != nil {
		log.Printf("%s: no agent: %v", name, err)
		return
	}
	for {
		next, err := reports.report(ctx, name, member)
		if err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", name, err)
		}
		if !pause(ctx, next) {
			return
		}
	}
}

// pause waits; it tells whether there is reason to go on.
func pause(ctx context.Context, period time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(period):
		return true
	}
}

// memberConfig reads the way to a member from a file that may have been written this moment.
func memberConfig(path string) (*rest.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	config.Timeout = patience
	return config, nil
}
