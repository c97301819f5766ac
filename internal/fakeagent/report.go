package fakeagent

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gascity/internal/fakeagent/ledger"
)

// report prints a ledger as a table or verifies it.
func report(args []string, stdout, stderr io.Writer) int {
	if len(args) != 2 {
		warn(stderr, "usage: fakeagent ledger FILE | fakeagent verify FILE")
		return 2
	}
	records, err := ledger.Read(args[1])
	if err == nil && args[0] == "verify" {
		err = ledger.Verify(records)
	}
	if err != nil {
		warn(stderr, "fakeagent: "+err.Error())
		return 1
	}
	if args[0] == "verify" {
		warn(stdout, fmt.Sprintf("ok: %d records, %d prompts", len(records), len(ledger.Prompts(records))))
		return 0
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	warn(table, "TIME\tRUN\tSEQ\tNAME\tKIND\tBYTES\tSHA256\tWHAT")
	for _, r := range records {
		warn(table, fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%d\t%.8s\t%s", r.Time.Format("15:04:05.000"), r.Run, r.Seq, r.Name, r.Kind, r.Bytes, r.SHA256, what(r)))
	}
	if err := table.Flush(); err != nil {
		return 1
	}
	return 0
}

// what returns the details of a record as one line.
func what(r ledger.Record) string {
	parts := []string{firstLine([]byte(r.Text)), r.Dialog, r.Choice, r.Signal, r.Reason, clip(r.Hex, 60)}
	if len(r.PIDs) > 0 {
		parts = append(parts, fmt.Sprint(r.PIDs))
	}
	if r.Code != 0 {
		parts = append(parts, fmt.Sprintf("code %d", r.Code))
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
