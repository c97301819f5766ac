package policy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gascity/internal/fsutil/logfile"
	"gascity/internal/guard"
)

// ErrNoSet reports a name that is neither a rule set nor a file of rules.
var ErrNoSet = errors.New("there is no such rule set or file")

// With returns the policy of the rules and of further sets, by their names or files.
func (r *Rules) With(more []string, read func(string) ([]byte, error)) (*guard.Policy, error) {
	sheet := r.policy.Source()
	sheet.Sets = slices.Clone(sheet.Sets)
	for _, name := range more {
		set, err := furtherSet(name, read)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(sheet.Sets, func(s guard.Set) bool { return s.Name == set.Name && s.File == set.File }) {
			sheet.Sets = append(sheet.Sets, set)
		}
	}
	return guard.Compile(sheet)
}

func furtherSet(name string, read func(string) ([]byte, error)) (guard.Set, error) {
	if slices.Contains(guard.Shipped(), name) {
		return guard.ShippedSet(name)
	}
	data, err := read(name)
	if err != nil {
		return guard.Set{}, fmt.Errorf("%w: %s; the sets are %s: %w", ErrNoSet, name, strings.Join(guard.Shipped(), ", "), err)
	}
	set, err := guard.Decode(name, data)
	set.File = name
	return set, err
}

// ReadCalls reads calls as a [Evaluator] keeps them, those before a moment left out. A
// line that cannot be read, as of a write that was cut off, is left out too.
func ReadCalls(from io.Reader, since time.Time) ([]guard.Call, error) {
	var calls []guard.Call
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var c guard.Call
		if json.Unmarshal(line, &c) == nil && c.Action.IsValid() && !c.At.Before(since) {
			calls = append(calls, c)
		}
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return calls, err
		}
	}
}

// ReadLog returns the calls in the log of that name and in its previous files that are not older than
// since, the oldest first.
func ReadLog(name string, since time.Time) ([]guard.Call, error) {
	var calls []guard.Call
	for i := logfile.Kept; i >= 0; i-- {
		file := name
		if i > 0 {
			file = fmt.Sprintf("%s.%d", name, i)
		}
		more, err := readFile(file, since)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the calls that were kept: %w", err)
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

func readFile(name string, since time.Time) (calls []guard.Call, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return ReadCalls(file, since)
}
