// Package agents tests real agent CLIs in real cities. The CLIs that every run drives are
// claude, pi and codex-acp; $GC_TEST_AGENTS names others, separated by commas, or "all".
package agents
