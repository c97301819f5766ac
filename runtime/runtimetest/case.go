package runtimetest

import "slices"

// T is what a case reports to. *testing.T is one. Fatalf ends the calling
// goroutine, which must be that of the case.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	// TempDir returns a new folder that is removed after the case.
	TempDir() string
}

// Case is one sentence of the contract and its proof.
type Case struct {
	// ID is stable: facet or verb, dot, what about it ("start.duplicate").
	ID string
	// Sentence is what the contract promises, as it stands in the reference.
	Sentence string
	// Needs are the abilities without which the case is not applicable.
	Needs []Need
	// Run tries it. It may be called many times and concurrently.
	Run func(t T, w *World)
}

// prove makes a case.
func prove(id, sentence string, run func(t T, w *World)) Case {
	return Case{ID: id, Sentence: sentence, Run: run}
}

// needs returns the case with more needs.
func (c Case) needs(more ...Need) Case {
	c.Needs = append(slices.Clone(c.Needs), more...)
	return c
}

// Cases returns the whole contract in the order of the reference. The slice is
// the caller's.
func Cases() []Case {
	return slices.Concat(
		startCases(),
		identityCases(),
		startupCases(),
		cancelCases(),
		stopCases(),
		runningCases(),
		attachCases(),
		activityCases(),
		processCases(),
		listCases(),
		nudgeCases(),
		keyCases(),
		outputCases(),
		metaCases(),
		stagerCases(),
		observeCases(),
		observeEndCases(),
		watchCases(),
		watchFlowCases(),
		deliverCases(),
		deliverCareCases(),
		fenceCases(),
		restartCases(),
		senseCases(),
		interactionCases(),
		boxCases(),
		serverCases(),
	)
}
