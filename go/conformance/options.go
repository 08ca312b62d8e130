package conformance

import (
	"strconv"
	"strings"
	"time"
)

// Environment variables that set what no option sets.
const (
	// BinaryVariable names the suite's binary, as the option [Binary] does.
	BinaryVariable = "CLUSTERPROFILE_CONFORMANCE_BINARY"
	// ArtifactsVariable names the folder for reports and evidence, as the option [Artifacts] does.
	ArtifactsVariable = "CLUSTERPROFILE_CONFORMANCE_ARTIFACTS"
)

// Option changes how a hub is judged.
type Option func(*settings)

// settings holds what the options say.
type settings struct {
	binary            string
	artifacts         string
	observe           *time.Duration
	flags             []string
	logf              func(format string, args ...any)
	allowInconclusive bool
}

func newSettings(options []Option) *settings {
	s := &settings{}
	for _, option := range options {
		option(s)
	}
	return s
}

// Namespace judges only the profiles of these namespaces.
func Namespace(names ...string) Option { return flag("--namespace", names...) }

// ClusterManager judges only the profiles of the cluster manager with this name (spec.clusterManager.name).
func ClusterManager(name string) Option { return flag("--cluster-manager", name) }

// ClusterManagerUser names the users of the cluster manager, as the hub's audit log names them. Name all.
func ClusterManagerUser(names ...string) Option { return flag("--cluster-manager-user", names...) }

// ClusterManagerAgent names the programs of the cluster manager: the part of a user agent before the first "/". In
// envtest several programs share one user, so name them there. Name all.
func ClusterManagerAgent(programs ...string) Option {
	return flag("--cluster-manager-agent", programs...)
}

// ClusterManagerFieldManager names the field managers of the cluster manager, as managedFields names them. Name all.
func ClusterManagerFieldManager(names ...string) Option {
	return flag("--cluster-manager-field-manager", names...)
}

// SchedulerUser names the users of the scheduler, as the hub's audit log names them. Name all.
func SchedulerUser(names ...string) Option { return flag("--scheduler-user", names...) }

// SchedulerAgent names the programs of the scheduler: the part of a user agent before the first "/". Name all.
func SchedulerAgent(programs ...string) Option { return flag("--scheduler-agent", programs...) }

// SchedulerFieldManager names the field managers of the scheduler, as managedFields names them. Name all.
func SchedulerFieldManager(names ...string) Option {
	return flag("--scheduler-field-manager", names...)
}

// ConsumerAgent names the programs of a consumer whose user other programs share. It replaces consumer.agents of the
// driver file.
func ConsumerAgent(programs ...string) Option { return flag("--consumer-agent", programs...) }

// ExpectProfiles sets how many profiles the cluster manager should publish: one for each member that is joined.
func ExpectProfiles(count uint) Option {
	return flag("--expect-profiles", strconv.FormatUint(uint64(count), 10))
}

// Edition sets the edition of the documents to judge by, such as "2026-07". The default is "standard".
func Edition(name string) Option { return flag("--edition", name) }

// Role sets who is judged: "manager" (the default), "scheduler", "consumer", or several of them. Consumers are judged on
// a stage that the suite plays: see [Driver] and docs/consumers.md.
func Role(names ...string) Option { return Args("--role=" + strings.Join(names, ",")) }

// Driver makes the implementation act by the hooks of a driver file (docs/driver.md), which join members or start a
// consumer. The suite then writes to the hub, so a driver needs [AllowMutations].
func Driver(file string) Option { return flag("--driver", file) }

// AllowMutations lets the suite write to the hub what a driver file asks for: profiles in namespaces of its own, and
// changes to those of its own members. It undoes them before it ends.
func AllowMutations() Option { return Args("--allow-mutations") }

// Observe sets how long the suite watches the hub. The default is five minutes, or what the file of [Config] says.
//
// Most wrong states count once they have lasted for two minutes, so a test that has just made its profiles needs a
// watch of more than that: in a shorter one, a fault passes with a note. Zero takes a single snapshot, in which a wrong
// state counts immediately; rules about changes are then skipped.
func Observe(duration time.Duration) Option {
	return func(s *settings) { s.observe = &duration }
}

// Strict counts a broken SHOULD rule as a failure.
func Strict() Option { return Args("--strict") }

// Config reads further flags, and who made the implementation, from a configuration file (conformance.yaml). Options
// win over the file.
func Config(file string) Option { return flag("--config", file) }

// Waivers waives the known violations that a file lists. Their rules are skipped, never passed.
func Waivers(file string) Option { return flag("--waivers", file) }

// Members queries the member clusters to verify their profiles. Each value is a file that lists kubeconfigs, or
// "from-secrets" to use the consumer Secrets on the hub.
func Members(sources ...string) Option { return flag("--members", sources...) }

// AuditLog reads audit logs of the hub's API server: files, or folders of files.
func AuditLog(paths ...string) Option { return flag("--audit-log", paths...) }

// Args passes further arguments of `clusterprofile-conformance run`, such as "--skip", "consumers/". The package itself
// sets --kubeconfig, --context, --format, --json, --html, --report and --record.
func Args(args ...string) Option {
	return func(s *settings) { s.flags = append(s.flags, args...) }
}

// Artifacts sets the folder for reports and evidence. In it, [Run] makes a folder for each test. An empty name sets
// nothing, so that os.Getenv can be passed.
func Artifacts(folder string) Option {
	return func(s *settings) { s.artifacts = folder }
}

// Binary sets the path of the suite's binary. An empty path sets nothing.
func Binary(path string) Option {
	return func(s *settings) { s.binary = path }
}

// Logf receives each line that the suite prints while it runs: its progress, its warnings and its decision. [Run] logs
// them to the test unless this is set.
func Logf(logf func(format string, args ...any)) Option {
	return func(s *settings) { s.logf = logf }
}

// AllowInconclusive accepts a run without a failure in which a MUST rule was inconclusive, or none could be judged.
// Without it, such a run fails: it proves nothing. A run that was cut short always fails.
func AllowInconclusive() Option {
	return func(s *settings) { s.allowInconclusive = true }
}

// arguments returns the arguments that the options stand for.
func (s *settings) arguments() []string {
	if s.observe == nil {
		return s.flags
	}
	return append([]string{"--observe=" + s.observe.String()}, s.flags...)
}

// flag passes a flag with each of its values.
func flag(name string, values ...string) Option {
	return func(s *settings) {
		for _, value := range values {
			// In one argument, so that a value that begins with a dash is not taken for a flag.
			s.flags = append(s.flags, name+"="+value)
		}
	}
}
