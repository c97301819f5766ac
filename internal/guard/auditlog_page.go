package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/fsutil"
)

// defaultPage is the number of decisions in a page without a limit.
const defaultPage = 100

// ReadDecisions returns a page of the decisions in the log file of an [Evaluator] with that name and
// in its rotated files, newest first. It reads a file only if the newer ones do not fill the page.
func ReadDecisions(name string, q client.GuardQuery) (client.GuardDecisions, error) {
	p := page{query: q, limit: defaultPage, out: client.GuardDecisions{Decisions: []client.GuardDecision{}}}
	if q.Limit > 0 {
		p.limit = min(q.Limit, client.MaxGuardPage)
	}
	if err := p.parseCursor(); err != nil {
		return p.out, err
	}
	var read []fs.FileInfo
	for i := 0; i <= fsutil.KeptLogs && !p.full; i++ {
		file := name
		if i > 0 {
			file = fmt.Sprintf("%s.%d", name, i)
		}
		text, info, err := readWhole(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p.out, fmt.Errorf("cannot read the recorded calls: %w", err)
		}
		if slices.ContainsFunc(read, func(known fs.FileInfo) bool { return os.SameFile(info, known) }) { // the files were rotated meanwhile
			continue
		}
		read = append(read, info)
		p.add(text)
	}
	return p.out, nil
}

// readWhole returns the content of a file and its file information, which identifies the file.
func readWhole(name string) ([]byte, fs.FileInfo, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	text := make([]byte, info.Size())
	n, err := file.ReadAt(text, 0)
	if n == len(text) {
		err = nil
	}
	return text[:n], info, err
}

// page collects decisions, newest first.
type page struct {
	query client.GuardQuery
	limit int
	// The cursor: decisions before this time, and those at this time after the first skip ones. A zero
	// time selects all.
	before time.Time
	skip   int

	out  client.GuardDecisions
	at   time.Time // of the last decision that was read
	same int       // decisions at that time that were read
	full bool      // there are more decisions than the page has
}

// parseCursor reads where the page begins from the query: a time, a slash and the number of
// decisions at that time to skip.
func (p *page) parseCursor() error {
	if p.query.Before == "" {
		return nil
	}
	at, skip, _ := strings.Cut(p.query.Before, "/")
	var err error
	if p.before, err = time.Parse(time.RFC3339Nano, at); err == nil {
		p.skip, err = strconv.Atoi(skip)
	}
	if err != nil {
		return fmt.Errorf("%w: before=%q is not valid: use the value next of an earlier page", client.ErrInvalid, p.query.Before)
	}
	return nil
}

// add adds the decisions in the text of a log file to the page, beginning with its last line.
func (p *page) add(text []byte) {
	for !p.full && len(text) > 0 {
		text = bytes.TrimSuffix(text, []byte("\n"))
		at := bytes.LastIndexByte(text, '\n')
		line := text[at+1:]
		text = text[:at+1]
		if !bytes.Contains(line, []byte(p.query.Agent)) && !strings.ContainsAny(p.query.Agent, "<>&\"\\") { // decoding costs more
			continue
		}
		var c Call
		if json.Unmarshal(line, &c) == nil && c.Action.IsValid() {
			p.addCall(c)
		}
	}
}

// addCall adds a decided call to the page if the query selects it and it is after the cursor.
func (p *page) addCall(c Call) {
	if p.query.Agent != "" && c.Agent != p.query.Agent || p.query.Action != "" && string(c.Action) != p.query.Action {
		return
	}
	if !c.At.Equal(p.at) {
		p.at, p.same = c.At, 0
	}
	p.same++
	if !p.before.IsZero() && (c.At.After(p.before) || c.At.Equal(p.before) && p.same <= p.skip) {
		return
	}
	if len(p.out.Decisions) == p.limit {
		p.full = true
		last := p.out.Decisions[p.limit-1].At
		skip := 0
		for i := p.limit - 1; i >= 0 && p.out.Decisions[i].At.Equal(last); i-- {
			skip++
		}
		if last.Equal(p.before) {
			skip += p.skip
		}
		p.out.Next = last.Format(time.RFC3339Nano) + "/" + strconv.Itoa(skip)
		return
	}
	d := client.GuardDecision{
		GuardVerdict: c.wire(), At: c.At, Agent: c.Agent, Session: c.Session, Role: c.Role, Dir: c.Dir, Tool: c.Tool, Input: string(c.Input), Cut: c.Cut,
	}
	if c.Now != "" {
		d.Dir = c.Now
	}
	p.out.Decisions = append(p.out.Decisions, d)
}
