package guard

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

	"gascity/internal/fsutil"
)

// ErrNoSet reports a name that is neither a built-in rule set nor a file of rules.
var ErrNoSet = errors.New("there is no such rule set or file")

// With returns a policy that consists of these rules and of more sets, each given by the name of a
// built-in set or the path of a file. read reads a file.
func (r *CityRules) With(more []string, read func(string) ([]byte, error)) (*Policy, error) {
	sheet := r.policy.Source()
	sheet.Sets = slices.Clone(sheet.Sets)
	for _, name := range more {
		set, err := furtherSet(name, read)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(sheet.Sets, func(s Set) bool { return s.Name == set.Name && s.File == set.File }) {
			sheet.Sets = append(sheet.Sets, set)
		}
	}
	return Compile(sheet)
}

// furtherSet returns the built-in rule set with this name; if there is none, the set in the file
// with this name.
func furtherSet(name string, read func(string) ([]byte, error)) (Set, error) {
	if slices.Contains(Shipped(), name) {
		return ShippedSet(name)
	}
	data, err := read(name)
	if err != nil {
		return Set{}, fmt.Errorf("%w: %s; the sets are %s: %w", ErrNoSet, name, strings.Join(Shipped(), ", "), err)
	}
	set, err := Decode(name, data)
	set.File = name
	return set, err
}

// ReadCalls returns the calls since a time from the record of an [Evaluator]. It skips lines that
// cannot be read, for example after an interrupted write.
func ReadCalls(from io.Reader, since time.Time) ([]Call, error) {
	var calls []Call
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var c Call
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

// ReadAuditLog returns the calls since a time from the log file with that name and its rotated
// files, oldest first.
func ReadAuditLog(name string, since time.Time) ([]Call, error) {
	var calls []Call
	for i := fsutil.KeptLogs; i >= 0; i-- {
		file := name
		if i > 0 {
			file = fmt.Sprintf("%s.%d", name, i)
		}
		more, err := readCallsFile(file, since)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the recorded calls: %w", err)
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

// readCallsFile returns the recorded calls since a time from one log file.
func readCallsFile(name string, since time.Time) (calls []Call, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return ReadCalls(file, since)
}
