package runtimetest

import "slices"

// T receives the results of a case. *testing.T implements it. Fatalf ends the calling goroutine,
// which must be that of the case.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	// TempDir returns a new folder that is removed after the case.
	TempDir() string
}

// Case is one sentence of the contract and the function that tests it.
type Case struct {
	// ID is stable. It has the interface or method, a dot and the subject, for example
	// "start.duplicate".
	ID string
	// Sentence is the sentence of the contract, as in the reference.
	Sentence string
	// Needs are the abilities without which the case is not applicable.
	Needs []Need
	// Run tests the sentence. It may be called many times and concurrently.
	Run func(t T, w *World)
}

// prove returns a case.
func prove(id, sentence string, run func(t T, w *World)) Case {
	return Case{ID: id, Sentence: sentence, Run: run}
}

// needs returns the case with more needs.
func (c Case) needs(more ...Need) Case {
	c.Needs = append(slices.Clone(c.Needs), more...)
	return c
}

// Cases returns all cases in the order of the reference. The caller owns the slice.
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
		terminalCases(),
		serverCases(),
	)
}
