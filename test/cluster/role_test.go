package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/provider/k8s"
)

// rule is one permission of the manifests.
type rule struct{ group, resource, verb string }

func (r rule) String() string { return r.verb + " " + r.resource }

// granted returns all that the roles of the manifests give: one rule for each verb.
func granted() []rule {
	return []rule{
		{"", "pods", "get"},
		{"", "pods", "list"},
		{"", "pods", "watch"},
		{"", "pods", "create"},
		{"", "pods", "delete"},
		{"", "pods/exec", "get"},
		{"", "pods/exec", "create"},
		{"", "events", "list"},
		{"coordination.k8s.io", "leases", "create"},
		{"coordination.k8s.io", "leases", "get"},
		{"coordination.k8s.io", "leases", "update"},
	}
}

// serve makes an account of the name with these permissions, and makes this test's
// programs use it.
func serve(t *testing.T, name string, rules []rule) {
	t.Helper()
	var text []string
	for _, r := range rules {
		text = append(text, fmt.Sprintf(`{"apiGroups":[%q],"resources":[%q],"verbs":[%q]}`, r.group, r.resource, r.verb))
	}
	apply(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%[1]q,"namespace":%[2]q}},
		{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":%[1]q,"namespace":%[2]q},"rules":[%[3]s]},
		{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":%[1]q,"namespace":%[2]q},
		 "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":%[1]q},"subjects":[{"kind":"ServiceAccount","name":%[1]q,"namespace":%[2]q}]}]}`,
		name, namespace, strings.Join(text, ",")))
	token := kubectl(t, "create", "token", name, "-n", namespace)
	var config map[string]any
	if err := json.Unmarshal([]byte(kubectl(t, "config", "view", "--raw", "-o", "json")), &config); err != nil {
		t.Fatal(err)
	}
	for _, user := range config["users"].([]any) {
		user.(map[string]any)["user"] = map[string]string{"token": token}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, must(json.Marshal(config)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}

// life starts, observes and ends an agent, and returns what could not be done.
func life(t *testing.T, id string) (said []string) {
	t.Helper()
	cfg := config(id)
	cfg.Limits = k8s.Limits{Schedule: waitLimit, Pull: waitLimit, Prepare: waitLimit / 6, Stop: waitLimit / 6} // what is denied is tried for a while
	p := reopen(t, cfg)
	try := func(what string, err error) {
		if err != nil {
			said = append(said, fmt.Sprintf("%s: %v", what, err))
		}
	}
	try("start", p.Start(t.Context(), "a", agent()))
	_, err := p.Observe(t.Context(), "a")
	try("observe", err)
	// The way of the first choice begins with a GET, which the client falls back from.
	_, err = osexec.CommandContext(t.Context(), "kubectl", "get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/nobody/exec?command=id").Output()
	if exit, ok := errors.AsType[*osexec.ExitError](err); ok && strings.Contains(string(exit.Stderr), "orbidden") {
		try("exec by WebSocket", fmt.Errorf("%w: %s", err, exit.Stderr))
	}
	try("stop", p.Stop("a"))
	return said
}

// explained starts an agent whose volume is missing, which only events report.
func explained(t *testing.T, id string) []string {
	t.Helper()
	cfg := config(id)
	cfg.Limits = k8s.Limits{Pull: waitLimit / 6}
	cfg.Template = `{"spec":{"volumes":[{"name":"gone","secret":{"secretName":"gone"}}],"containers":[{"name":"agent","volumeMounts":[{"name":"gone","mountPath":"/gone"}]}]}}`
	err := reopen(t, cfg).Start(t.Context(), "b", agent())
	if err == nil || !strings.Contains(err.Error(), "FailedMount") {
		return []string{fmt.Sprintf("explain: a start without its volume is reported as %v", err)}
	}
	return nil
}

// lead writes a lease.
func lead(t *testing.T) (said []string) {
	t.Helper()
	store := k8s.Leases(config(t.Name()).Settings, "gc")
	r, err := store.Get(t.Context())
	for range 2 {
		if err == nil {
			r.Holder = "test"
			r, err = store.Put(t.Context(), r)
		}
	}
	if err != nil {
		said = append(said, fmt.Sprintf("lease: %v", err))
	}
	return said
}

// The roles of the manifests are enough for a whole life, nothing in them could be left
// out, and they give nothing else.
func TestRoles(t *testing.T) {
	requireCluster(t)
	space(t)
	for i, left := range append([]rule{{}}, granted()...) {
		t.Run(left.String(), func(t *testing.T) {
			id := idOf(t.Name())
			t.Cleanup(func() {
				for _, args := range [][]string{{"delete", "pods", "-l", "gc-city=" + id, "--grace-period=1"}, {"delete", "lease", "gc", "--ignore-not-found"}} {
					if out, err := osexec.Command("kubectl", append(args, "-n", namespace)...).CombinedOutput(); err != nil {
						t.Errorf("kubectl %v: %v\n%s", args, err, out)
					}
				}
			})
			serve(t, fmt.Sprintf("less-%d", i), slices.DeleteFunc(granted(), func(r rule) bool { return r == left }))
			var said []string
			if all := left == (rule{}); all || left.resource == "leases" {
				said = append(said, lead(t)...)
			}
			if all := left == (rule{}); all || left.resource == "events" {
				said = append(said, explained(t, t.Name())...)
			}
			if left.resource != "leases" && left.resource != "events" {
				said = append(said, life(t, t.Name())...)
			}
			t.Logf("%s", strings.Join(said, "\n"))
			if (left == rule{}) != (len(said) == 0) {
				t.Errorf("without %q this cannot be done: %q", left, said)
			}
		})
	}
	t.Run("nothing else", func(t *testing.T) {
		out, err := osexec.CommandContext(t.Context(), "kubectl", "create", "--dry-run=client", "-f", manifests, "-o", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
			var object struct {
				Kind  string
				Rules []struct{ APIGroups, Resources, Verbs []string }
			}
			if err := d.Decode(&object); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(object.Kind, "Cluster") {
				t.Errorf("the manifests have a %s", object.Kind)
			}
			for _, r := range object.Rules {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						for _, verb := range r.Verbs {
							got = append(got, fmt.Sprint(rule{group, resource, verb}))
						}
					}
				}
			}
		}
		for _, r := range granted() {
			want = append(want, r.String())
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the manifests grant %v, want %v", got, want)
		}
	})
}
