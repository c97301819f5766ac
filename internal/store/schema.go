package store

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// applicationID identifies a database of gc: "gcdb".
const applicationID = 0x67636462

//go:embed schema.sql
var firstSchema string

// migrations[i] migrates from version i to i+1. There is no way back.
var migrations = []string{firstSchema, cityKeys, usageKeys, eventOwners, noHistory, notifications}

// cityKeys is the migration to version 2. A key identifies one prompt of the city; in version 1 it
// identified one prompt of a session, so duplicates may exist.
const cityKeys = "DROP INDEX receipt_key; CREATE INDEX receipt_key ON receipt (key) WHERE key <> ''"

// usageKeys is the migration to version 3. Usage is stored once for each response; until version 2
// the table existed but was not used.
const usageKeys = `
DROP TABLE usage;
CREATE TABLE usage (
	run     TEXT NOT NULL,
	message TEXT NOT NULL,
	at      INTEGER NOT NULL,
	body    TEXT NOT NULL, -- usage.Entry
	PRIMARY KEY (run, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_at ON usage (at);
`

// eventOwners is the migration to version 4. It adds the owner of an event, among whom retention
// divides the space, see group.
const eventOwners = `
ALTER TABLE event ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN kind TEXT NOT NULL DEFAULT '';
UPDATE event SET
	kind = coalesce(json_extract(body, '$.kind'), ''),
	owner = coalesce(nullif(json_extract(body, '$.session'), ''), 'agent:' || nullif(json_extract(body, '$.agent'), ''), '')
	WHERE json_valid(body);
CREATE INDEX event_owner ON event (owner, kind);
`

// noHistory is the migration to version 5. Until version 4 the table held the ended instances of
// each session, which nothing read.
const noHistory = "DROP TABLE incarnation"

// notifications is the migration to version 6: notifications of people, and what their engine has read.
const notifications = `
CREATE TABLE delivery (
	subject TEXT NOT NULL,
	sink    TEXT NOT NULL,
	device  TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	final   INTEGER NOT NULL,
	body    TEXT NOT NULL, -- notification.Delivery
	PRIMARY KEY (subject, sink, device)
) STRICT;
CREATE TABLE notifier (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	body TEXT NOT NULL -- notification.State
) STRICT;
`

// databaseInfo contains the application id and the version in a database file.
type databaseInfo struct{ application, version int }

// inspect reads the application id and the version.
func inspect(ctx context.Context, conn *sql.Conn) (a databaseInfo, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&a.application); err != nil {
		return a, err
	}
	err = conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&a.version)
	return a, err
}

// check returns an error if the database belongs to a newer gc or to another program, or is
// damaged. After an unclean shutdown it checks the whole database.
func check(ctx context.Context, conn *sql.Conn, latest int) error {
	a, err := inspect(ctx, conn)
	switch {
	case err != nil:
		return err
	case a == databaseInfo{}:
		return checkNew(ctx, conn)
	case a.application != applicationID:
		return fmt.Errorf("%w: it belongs to another program", ErrDamaged)
	case a.version > latest:
		return fmt.Errorf("%w: its version is %d, this gc knows up to %d; use the gc that wrote it, or move the file away to begin again: agents keep running",
			ErrNewer, a.version, latest)
	}
	var clean int
	if err := conn.QueryRowContext(ctx, "SELECT clean FROM timeline").Scan(&clean); err != nil {
		if kind, _ := faultOf(err); kind == faultOther || errors.Is(err, sql.ErrNoRows) { // a table or its row is missing
			return errors.Join(ErrDamaged, err)
		}
		return err
	}
	if clean == 1 {
		return nil
	}
	var verdict string
	if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	return nil
}

// checkNew checks a database file without a version. It must contain no tables, otherwise it
// belongs to another program.
func checkNew(ctx context.Context, conn *sql.Conn) error {
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		return fmt.Errorf("%w: it belongs to another program", ErrDamaged)
	}
	return nil
}

// migrate migrates the database to the latest version in one transaction. It first copies a
// database of an older version.
//
// A new database is complete after this transaction. origin is the id before its first event.
func migrate(ctx context.Context, conn *sql.Conn, path string, steps []string, origin uint64) error {
	a, err := inspect(ctx, conn)
	if err != nil || a.version == len(steps) {
		return err
	}
	if a.version > 0 {
		if err := backup(ctx, conn, fmt.Sprintf("%s.bak-v%d", path, a.version)); err != nil {
			return fmt.Errorf("cannot copy version %d before the migration to %d: %w", a.version, len(steps), err)
		}
	} else if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
		return err
	}
	script := []string{"BEGIN IMMEDIATE"}
	script = append(script, steps[a.version:]...)
	if a.version == 0 {
		script = append(script, fmt.Sprintf("INSERT INTO timeline VALUES (1, %d, %d, 0, 0, 0, 1)", origin, origin))
	}
	script = append(script,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(steps)),
		"COMMIT")
	for i, statement := range script {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			_, rollback := conn.ExecContext(ctx, "ROLLBACK")
			if i == 0 {
				rollback = nil // nothing was begun
			}
			return fmt.Errorf("cannot migrate from version %d to %d, nothing was changed: %w", a.version, len(steps), errors.Join(err, rollback))
		}
	}
	return nil
}

// backup writes a copy of the database next to it and replaces an earlier copy.
func backup(ctx context.Context, conn *sql.Conn, path string) error {
	fresh := path + ".tmp"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := create(fresh); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", fresh); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// create creates an empty file that only this user can access. It restricts the access to an
// existing file.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	return errors.Join(err, file.Close())
}

// setAside renames the database and its journal files, as far as they exist, and returns the new
// name of the database.
func setAside(path, suffix string) (string, error) {
	aside := path + ".damaged-" + suffix
	for _, part := range []string{"-journal", "-wal", "-shm", ""} { // the database last, so that an interrupted call can be repeated
		if err := os.Rename(path+part, aside+part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return aside, syncDir(filepath.Dir(path))
}

// syncDir writes the entries of a directory to the disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// source returns the data source name of a file, with special characters escaped.
func source(path string, pragmas ...string) string {
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return strings.Join(append([]string{"file:" + escaped + "?_dqs=0&_error_rc=1"}, pragmas...), "&_pragma=")
}
