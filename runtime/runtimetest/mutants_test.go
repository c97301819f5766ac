package runtimetest_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// mutants breaks one sentence of the contract for each case.
func mutants() map[string]func(m *modifiedFake) {
	all := map[string]func(m *modifiedFake){}
	for _, some := range []map[string]func(m *modifiedFake){
		startMutants(), startupMutants(), cancelMutants(), stopMutants(), inspectorMutants(), inputMutants(),
		outputMutants(), metaMutants(), stagerMutants(), observeMutants(), deliverMutants(), fenceMutants(), extensionMutants(), terminalMutants(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// TestMutants proves that the suite can fail: each case reports the provider
// that breaks just its sentence.
func TestMutants(t *testing.T) {
	all, cases := mutants(), runtimetest.Cases()
	results := make([]runtimetest.Result, len(cases))
	slots := make(chan struct{}, 16) // most of them wait for what never happens
	var wait sync.WaitGroup
	for i, c := range cases {
		if breakIt := all[c.ID]; breakIt != nil {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				results[i] = c.Check(t.Context(), mutantHarness(breakIt))
			})
		}
	}
	wait.Wait()
	for i, c := range cases {
		t.Run(c.ID, func(t *testing.T) { wantNoticed(t, results[i]) })
		delete(all, c.ID)
	}
	for id := range all {
		t.Errorf("mutant %q belongs to no case", id)
	}
}

func wantNoticed(t *testing.T, result runtimetest.Result) {
	t.Helper()
	if result.Status == "" {
		t.Fatal("the case has no mutant: nothing proves that it can fail")
	}
	if result.Status != runtimetest.Failed {
		t.Fatalf("the case %s: it does not notice its mutant (%v)", result.Status, result.Detail)
	}
	if !slices.ContainsFunc(result.Detail, isOwnFinding) {
		t.Errorf("only the clean-up noticed the mutant: %v", result.Detail)
	}
	for _, line := range result.Detail {
		if strings.HasPrefix(line, "panic:") {
			t.Errorf("the case panicked: %s", line)
		}
	}
}

func isOwnFinding(line string) bool { return !strings.HasPrefix(line, "after the case: ") }

func mutantHarness(breakIt func(m *modifiedFake)) runtimetest.Harness {
	var opened atomic.Int32
	h := fake.Harness(func(p *fake.Provider) runtime.Provider {
		m := &modifiedFake{Provider: p, notes: map[string]string{}, reopened: opened.Add(1) > 1}
		breakIt(m)
		return m
	})
	h.Patience = time.Second
	return h
}
