package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"gascity/internal/redact"
)

// The defaults of [Options].
const (
	defaultTimeout  = 10 * time.Second
	defaultLockWait = 3 * time.Second

	defaultEvents = 100_000
	defaultBytes  = 64 << 20
	defaultAge    = 30 * 24 * time.Hour

	defaultUsage    = 1_000_000
	defaultUsageAge = 400 * 24 * time.Hour
)

// Options configures a store. Path is required; the other fields have defaults.
type Options struct {
	// Path is the database file. The file and its directory are created if they are missing,
	// accessible only to this user.
	Path string
	// ExpectDatabase is true if the city had a database before. A missing or empty file is then
	// reported by [DB.Damage]. If it is false, a missing file means a first start.
	ExpectDatabase bool
	// Now returns the current time; time.Now if nil.
	Now func() time.Time
	// Logger logs faults and repairs; nil: no log.
	Logger *slog.Logger
	// Retain limits how many events and usage entries are stored.
	Retain Retention
	// Timeout is how long a call waits for the disk before it fails; 10 s if zero. LockWait is how
	// long an operation waits for another process that locks the database; 3 s if zero.
	Timeout, LockWait time.Duration
	// Secrets masks secrets in stored data, except in what senders write for agents: the content,
	// key and metadata of prompts, and the condition and text of waits. Nil masks only the tokens
	// of gc.
	Secrets *redact.Redactor
	// OnFault is called when a fault begins, changes or ends; nil means that it ended. The calls
	// are in order. OnFault must not block and must not write to the store.
	OnFault func(fault error)

	tail, unwritten int // number of events in memory: the minimum, and the maximum while they cannot be written
}

// Retention limits the stored events. When a limit is exceeded, the next writes remove old events
// in batches; the newest event always stays. A limit may be exceeded by an eighth, and by at most
// 500 events, 1 MiB or a minute, before events are removed. Zero fields mean the defaults: 100,000
// events, 64 MiB, 30 days.
//
// Usage is the maximum number of usage entries and UsageAge their maximum age; the defaults are
// 1,000,000 and 400 days.
type Retention struct {
	Events int
	Bytes  int64
	Age    time.Duration

	Usage    int
	UsageAge time.Duration
}

// Damage describes a database that was damaged or missing.
type Damage struct {
	File string // where the damaged file is now; empty: it was missing
	Err  error  // the cause; matches [ErrDamaged] or [ErrMissing]
}

// DB is the store of a city. It implements the store interfaces of the domain packages and
// [event.Log]. Safe for concurrent use.
type DB struct {
	opts Options
	path string
	base context.Context //nolint:containedctx // for operations without a caller's context; never done

	jobs       chan *job
	wake       chan struct{} // capacity 1: signals a changed fault
	closing    chan struct{} // closed by Close
	writerDone chan struct{} // closed when the writer returns
	closeOnce  func() error

	reads  *sql.DB
	places []place // the opened files; constant
	events timeline
	health health
	damage *Damage

	usagePruning usagePruning // used by the writer only
	refusedBytes int          // size of the largest failed transaction in bytes; used by the writer only
	closeErr     error        // result of the writer, valid after writerDone is closed
}

// Open opens the store and creates it if it is missing. A database of an earlier version is copied
// and then migrated. For a database of a later version the error matches [ErrNewer], and the
// database is not changed. A damaged database is renamed, never removed, and replaced by a new
// one, see [DB.Damage]. For any other problem the error matches [ErrUnavailable]. ctx cancels only
// the call of Open; [DB.Close] closes the store.
func Open(ctx context.Context, opts Options) (*DB, error) {
	return open(ctx, opts, migrations)
}

// open is [Open] with the given migrations.
func open(ctx context.Context, opts Options, steps []string) (*DB, error) {
	opts = opts.withDefaults()
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the store: %w", err)
	}
	d := &DB{
		opts: opts, path: path, base: context.WithoutCancel(ctx),
		jobs: make(chan *job, maxBatch), wake: make(chan struct{}, 1), closing: make(chan struct{}), writerDone: make(chan struct{}),
	}
	d.health, d.closeOnce = health{now: opts.Now, change: d.faultChanged}, sync.OnceValue(d.close)
	if err := d.findMissing(); err != nil {
		return nil, notOpened("open the store", path, err)
	}
	t, err := d.openFile(ctx, steps)
	if errors.Is(err, ErrDamaged) {
		if t, err = d.rebuild(ctx, steps, err); err != nil {
			return nil, notOpened("create a new database", path, err)
		}
	}
	if err != nil {
		return nil, notOpened("open the store", path, err)
	}
	connector, err := sqlite.NewConnector(d.source("query_only(1)") + "&mode=rw") // never creates a file
	if err != nil {
		return nil, errors.Join(notOpened("open the store", path, err), t.close())
	}
	d.reads = sql.OpenDB(connector)
	d.reads.SetMaxOpenConns(4)
	d.reads.SetMaxIdleConns(1)
	go d.run(d.base, t) // Close waits for it
	d.reportDamage()
	return d, nil
}

// withDefaults returns the options with zero fields replaced by the defaults.
func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.tail == 0 {
		o.tail, o.unwritten = defaultTail, defaultUnwritten
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Timeout, o.LockWait = cmp.Or(max(o.Timeout, 0), defaultTimeout), cmp.Or(max(o.LockWait, 0), defaultLockWait)
	r := &o.Retain
	r.Events, r.Bytes, r.Age = cmp.Or(max(r.Events, 0), defaultEvents), cmp.Or(max(r.Bytes, 0), defaultBytes), cmp.Or(max(r.Age, 0), defaultAge)
	r.Usage, r.UsageAge = cmp.Or(max(r.Usage, 0), defaultUsage), cmp.Or(max(r.UsageAge, 0), defaultUsageAge)
	return o
}

// source returns the data source name of the database.
func (d *DB) source(pragmas ...string) string {
	return source(d.path, append(pragmas, fmt.Sprintf("busy_timeout(%d)", d.opts.LockWait.Milliseconds()))...)
}

// openFile opens or creates the database, migrates it, and returns the writer's connection.
func (d *DB) openFile(ctx context.Context, steps []string) (*tx, error) {
	if err := d.makeFile(); err != nil {
		return nil, err
	}
	database, err := placeOf(d.path) // before it is opened, so that a later replacement is detected
	if err != nil {
		return nil, err
	}
	if err := d.inspectFile(ctx, len(steps)); err != nil {
		return nil, damaged(err)
	}
	conn, err := connect(ctx, d.source("synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "cell_size_check(1)"))
	if err != nil {
		return nil, damaged(err)
	}
	t := &tx{conn: conn, prepared: map[string]*sql.Stmt{}, grade: survivesPower}
	if err := d.prepare(ctx, t, steps); err != nil {
		return nil, damaged(errors.Join(err, t.close()))
	}
	journal, err := placeOf(d.path + "-wal")
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	d.places = []place{database, journal}
	return t, nil
}

// makeFile creates the directory and the file if they are missing, accessible only to this user
// from the start.
func (d *DB) makeFile() error {
	dir := filepath.Dir(d.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := os.Stat(d.path)
	if err := create(d.path); err != nil {
		return err
	}
	if errors.Is(err, os.ErrNotExist) {
		return syncDir(dir)
	}
	return err
}

// inspectFile checks an existing database without changing it. Exception: a transaction that a
// killed process left unfinished is undone, as by every program that opens the database.
func (d *DB) inspectFile(ctx context.Context, latest int) error {
	info, err := os.Stat(d.path)
	if err != nil || info.Size() == 0 {
		return err
	}
	err = d.inspectAs(ctx, "ro", latest)
	if halfWritten(err) {
		err = d.inspectAs(ctx, "rw", latest)
	}
	return err
}

// inspectAs checks the database over a connection with the given mode, "ro" or "rw".
func (d *DB) inspectAs(ctx context.Context, mode string, latest int) error {
	conn, err := connect(ctx, d.source("query_only(1)")+"&mode="+mode)
	if err != nil {
		return err
	}
	err = check(ctx, conn.Conn, latest)
	return errors.Join(err, conn.Close())
}

// halfWritten reports whether err means that an unfinished transaction must be undone before the
// database can be read. A read-only connection cannot do that.
func halfWritten(err error) bool {
	engine, ok := errors.AsType[*sqlite.Error](err)
	return ok && engine.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}

// prepare migrates and configures the database for the writer.
func (d *DB) prepare(ctx context.Context, t *tx, steps []string) error {
	if err := migrate(ctx, t.conn.Conn, d.path, steps, d.firstOrigin()); err != nil {
		return err
	}
	var mode string
	if err := t.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system does not support a write-ahead log; the journal mode is %q", mode)
	}
	for _, pragma := range []string{"PRAGMA journal_size_limit = 4194304", "PRAGMA wal_autocheckpoint = 1000"} {
		if _, err := t.conn.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	return d.loadTimeline(ctx, t)
}

// damaged returns err, with [ErrDamaged] added if it means that the database is damaged.
func damaged(err error) error {
	if kind, _ := faultOf(err); kind == faultDamaged && !errors.Is(err, ErrDamaged) {
		return errors.Join(ErrDamaged, err)
	}
	return err
}

// link is a connection with its own pool.
type link struct {
	*sql.Conn
	pool *sql.DB
}

// Close closes the connection and its pool.
func (l *link) Close() error { return errors.Join(l.Conn.Close(), l.pool.Close()) }

// connect opens the database and returns a link with one connection to it. Closing the link closes
// the connection and the pool of package sql that it comes from.
func connect(ctx context.Context, source string) (*link, error) {
	connector, err := sqlite.NewConnector(source)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &link{conn, pool}, nil
}
