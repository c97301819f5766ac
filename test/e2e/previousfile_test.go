package e2e

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	_ "modernc.org/sqlite"

	"gascity/client"
)

// The root of the city in the files of testdata/previous.
const rootMark = "@ROOT@"

// writePrevious writes the city, whose controller has ended, to testdata/previous.
func (c *city) writePrevious(t *testing.T, shown printed) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(previousDir, name), []byte(strings.ReplaceAll(text, c.root, rootMark)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := dumpDatabase(t.Context(), filepath.Join(c.root, ".gc", "city.db"))
	if err != nil {
		t.Fatal(err)
	}
	write("city.sql", text)
	page, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	write("shown.json", string(page)+"\n")
	toml, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		t.Fatal(err)
	}
	write("city.toml", string(toml))
	write("MADE", time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)+"\n")
	var files strings.Builder
	err = filepath.WalkDir(c.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			fmt.Fprintf(&files, "%v %s\n", entry.Type(), path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the files of the city:\n%s", files.String())
}

// dumpDatabase returns a database as the SQL statements that make it again.
func dumpDatabase(ctx context.Context, path string) (string, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return "", err
	}
	defer db.Close()
	var out strings.Builder
	for _, pragma := range []string{"auto_vacuum", "application_id", "user_version"} {
		var value int
		if err := db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&value); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "PRAGMA %s = %d;\n", pragma, value)
	}
	schema, err := rowsOf(ctx, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name")
	if err != nil {
		return "", err
	}
	for _, row := range schema {
		fmt.Fprintf(&out, "%s;\n", row[0])
	}
	tables, err := rowsOf(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence') ORDER BY name")
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		rows, err := rowsOf(ctx, db, fmt.Sprintf("SELECT * FROM %v ORDER BY 1, 2", table[0]))
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			values := make([]string, len(row))
			for i, value := range row {
				values[i] = literal(value)
			}
			fmt.Fprintf(&out, "INSERT INTO %v VALUES (%s);\n", table[0], strings.Join(values, ", "))
		}
	}
	return out.String(), nil
}

func rowsOf(ctx context.Context, db *sql.DB, query string) (all [][]any, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// literal writes a value as SQL. A BLOB that is text stays readable.
func literal(value any) string {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		return quote(v)
	case []byte:
		if utf8.Valid(v) && !slices.Contains(v, 0) {
			return "CAST(" + quote(string(v)) + " AS BLOB)"
		}
		return "X'" + hex.EncodeToString(v) + "'"
	}
	return fmt.Sprint(value)
}

// The times in the files of testdata/previous: in JSON, and nanoseconds since 1970 in columns.
var (
	writtenTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	storedTime  = regexp.MustCompile(`\b1[6-9]\d{17}\b`)
)

// previousAge returns how long ago testdata/previous was made.
func previousAge(t *testing.T) time.Duration {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(previousDir, "MADE"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := time.Parse(time.RFC3339, strings.TrimSpace(string(written)))
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(made).Truncate(time.Second)
}

// readPrevious reads a file of testdata/previous for a city in root. Its times are moved by
// the age, so that the city was made now: what is kept for a week or a day is kept.
func readPrevious(t *testing.T, name, root string, age time.Duration) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(previousDir, name))
	if err != nil {
		t.Fatal(err)
	}
	moved := writtenTime.ReplaceAllStringFunc(strings.ReplaceAll(string(text), rootMark, root), func(s string) string {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || at.IsZero() {
			return s
		}
		return at.Add(age).Format(time.RFC3339Nano)
	})
	return storedTime.ReplaceAllStringFunc(moved, func(s string) string {
		at, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return s
		}
		return strconv.FormatInt(at+int64(age), 10)
	})
}

// TestCityOfThePreviousVersionOpens opens a city whose database the gc of an earlier commit has
// written, after the end of all its processes, as a reboot leaves it. The present gc shows every
// prompt, question, event and number as the earlier one did, and sessions that were held stay
// held. Prompts for the next instance arrive.
func TestCityOfThePreviousVersionOpens(t *testing.T) {
	t.Parallel()
	c, age := newPreviousCity(t), previousAge(t)
	c.write(readPrevious(t, "city.toml", c.root, age))
	if err := os.Mkdir(filepath.Join(c.root, ".gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(c.root, ".gc", "city.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), readPrevious(t, "city.sql", c.root, age))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	before := printed{}
	if err := json.Unmarshal([]byte(readPrevious(t, "shown.json", c.root, age)), &before); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(c.agent); err != nil { // nothing starts until everything is compared
		t.Fatal(err)
	}
	c.start()
	c.await("with its sessions known", func(s client.Status) bool {
		return !slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.State == client.StateUnknown })
	})
	after := c.shown(t)
	compare := func(what string, before, after any) {
		t.Helper()
		for _, difference := range lacks(what, before, after) {
			t.Error(difference)
		}
	}
	compare("gc usage", before["usage --since 8760h"], after["usage --since 8760h"])
	compare("gc events", before["events"], after["events"])
	compared := map[string]int{}
	for command, value := range before {
		if id, ok := strings.CutPrefix(command, "receipt "); ok {
			state, _ := value.(map[string]any)["state"].(string)
			if closed, _ := value.(map[string]any)["closed"].(bool); state != client.ReceiptQueued && (state != client.ReceiptSubmitted || closed) {
				compared[state]++
				compare("gc "+command, value, after[command])
			} else if _, known := after["receipt "+id]; !known {
				t.Errorf("the prompt %s is not known any more", id)
			}
		}
	}
	for _, state := range []string{client.ReceiptConsumed, client.ReceiptCancelled, client.ReceiptExpired} {
		if compared[state] == 0 {
			t.Errorf("no prompt was %s, so none was compared: %v", state, compared)
		}
	}
	ended := 0
	for id, question := range byKey(before["pending --all"], "pending", "id") {
		if question["state"] != client.PendingOpen {
			ended++
			compare("gc pending "+id, question, any(byKey(after["pending --all"], "pending", "id")[id]))
		}
	}
	if ended == 0 {
		t.Error("no question had ended, so none was compared")
	}
	was, is := byKey(before["status"], "agents", "name"), byKey(after["status"], "agents", "name")
	for _, name := range []string{"held", "tired", "broken"} {
		compare("gc status: "+name, was[name], any(is[name]))
	}
	if err := os.Symlink(c.gc, c.agent); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work", "pane"} {
		c.run(t, "start", name)
		c.await(name+" without waiting prompts", func(client.Status) bool {
			return c.promptOf(t, name, "later of "+name).State == client.ReceiptConsumed
		})
		if a := c.awaitAgent(name, client.StateRunning); float64(a.Epoch) <= was[name]["epoch"].(float64) { //nolint:forcetypeassert // a panic fails the test
			t.Errorf("%s runs in epoch %d, after %v", name, a.Epoch, was[name]["epoch"])
		}
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
}

// byKey returns the objects of a list in a JSON object, by one of their fields.
func byKey(page any, list, field string) map[string]map[string]any {
	out := map[string]map[string]any{}
	object, _ := page.(map[string]any)
	all, _ := object[list].([]any)
	for _, value := range all {
		if row, ok := value.(map[string]any); ok {
			if key, ok := row[field].(string); ok {
				out[key] = row
			}
		}
	}
	return out
}
