package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

// Options say how a store is opened. Path is required, the rest has defaults.
type Options struct {
	// Path is the database. It and its folder are made if they are missing, for
	// this user alone.
	Path string
	// ExpectDatabase says that the city has had a life before: a database that is missing
	// or empty was lost then, see [DB.Damage]. Otherwise it is a first start.
	ExpectDatabase bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs faults and repairs; nil: no log.
	Logger *slog.Logger
	// Retain is how much of the past stays.
	Retain Retention
	// Timeout is how long a call waits for the disk before it fails; 10 s if
	// zero. LockWait is how long another process may hold the database; 3 s.
	Timeout, LockWait time.Duration
	// Secrets masks what is stored, except what senders write for agents: the content, key and
	// metadata of prompts, the condition and the text of waits. Nil masks the tokens of gc alone.
	Secrets *redact.Redactor
	// OnFault is called when a fault begins, becomes another, or ends (nil). It
	// is called in order, must not block and must not change what is kept.
	OnFault func(fault error)

	tail, unwritten int // events in memory: at least, and at most if they cannot be written
}

// Retention is how many events are kept. The oldest go first, in portions, when
// others are written, as soon as one limit is passed; the newest one always
// stays. A limit is passed by an eighth at most, and by no more than 500 events, 1 MiB or a
// minute, before events are removed down to it. Zero fields are the defaults: 100,000 events, 64 MiB, 30 days.
//
// Of what was spent Usage entries are kept, and none that is older than UsageAge:
// 1,000,000 and 400 days.
type Retention struct {
	Events int
	Bytes  int64
	Age    time.Duration

	Usage    int
	UsageAge time.Duration
}

// Damage is the result for a database that was invalid, or missing.
type Damage struct {
	File string // where it is now; empty: it was missing
	Err  error  // what was found; matches [ErrDamaged] or [ErrMissing]
}

// DB is the store of a city: everything but what is in the time line is in the
// methods of the interfaces that it implements. Safe for concurrent use.
type DB struct {
	opts Options
	path string
	base context.Context //nolint:containedctx // of what has no caller: values only, never ends

	jobs       chan *job
	wake       chan struct{} // has room for one: there is a fault
	closing    chan struct{} // closed by Close
	writerDone chan struct{} // closed by the writer at its end
	ending     closer

	reads  *sql.DB
	places []place // of the files, as they were opened; constant
	events timeline
	health health
	damage *Damage

	usagePruning usagePruning // the writer's
	refusedBytes int          // bytes at most that a write fault has refused; the writer's
	closeErr     error        // of the writer, valid when dead is closed
}

// Open opens the store, or makes it. A database of an earlier version is
// migrated, with a copy beside it; one of a later version is an error matching
// [ErrNewer] and is not touched. One that is damaged is set aside, never
// removed, and a new one is begun, as for one that is missing although the city
// has lived: see [DB.Damage]. Any other trouble is an
// error matching [ErrUnavailable].
//
// ctx ends the opening; the store itself ends with [DB.Close].
func Open(ctx context.Context, opts Options) (*DB, error) {
	return open(ctx, opts, migrations)
}

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
	d.health = health{now: opts.Now, change: d.faultChanged}
	if err := d.findMissing(); err != nil {
		return nil, notOpened("open the store", path, err)
	}
	t, err := d.openFile(ctx, steps)
	if errors.Is(err, ErrDamaged) {
		if t, err = d.rebuild(ctx, steps, err); err != nil {
			return nil, notOpened("begin a new database", path, err)
		}
	}
	if err != nil {
		return nil, notOpened("open the store", path, err)
	}
	connector, err := sqlite.NewConnector(d.source("query_only(1)") + "&mode=rw") // never makes a file
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

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.LockWait <= 0 {
		o.LockWait = defaultLockWait
	}
	if o.tail == 0 {
		o.tail, o.unwritten = defaultTail, defaultUnwritten
	}
	if o.Retain.Events <= 0 {
		o.Retain.Events = defaultEvents
	}
	if o.Retain.Bytes <= 0 {
		o.Retain.Bytes = defaultBytes
	}
	if o.Retain.Age <= 0 {
		o.Retain.Age = defaultAge
	}
	if o.Retain.Usage <= 0 {
		o.Retain.Usage = defaultUsage
	}
	if o.Retain.UsageAge <= 0 {
		o.Retain.UsageAge = defaultUsageAge
	}
	return o
}

func (d *DB) source(pragmas ...string) string {
	return source(d.path, append(pragmas, fmt.Sprintf("busy_timeout(%d)", d.opts.LockWait.Milliseconds()))...)
}

// openFile returns the writer's connection to a database of the latest version.
func (d *DB) openFile(ctx context.Context, steps []string) (*tx, error) {
	if err := d.makeFile(); err != nil {
		return nil, err
	}
	database, err := placeOf(d.path) // before it is opened: what replaces it from here on is found
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

// makeFile makes the folder and the file if they are missing, so that both are
// for this user alone from the first moment.
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

// inspectFile judges what is there without changing it. Only a transaction that a killed process
// has left half written is undone, as every program that opens the database does.
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

func (d *DB) inspectAs(ctx context.Context, mode string, latest int) error {
	conn, err := connect(ctx, d.source("query_only(1)")+"&mode="+mode)
	if err != nil {
		return err
	}
	err = check(ctx, conn.Conn, latest)
	return errors.Join(err, conn.Close())
}

// halfWritten reports that a transaction has to be undone before the database can be read, which
// a connection that may not write cannot do.
func halfWritten(err error) bool {
	engine, ok := errors.AsType[*sqlite.Error](err)
	return ok && engine.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}

// prepare makes the database ready for the writer.
func (d *DB) prepare(ctx context.Context, t *tx, steps []string) error {
	if err := migrate(ctx, t.conn.Conn, d.path, steps, d.firstEvent()); err != nil {
		return err
	}
	var mode string
	if err := t.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot do what the journal needs: it is %q", mode)
	}
	for _, pragma := range []string{"PRAGMA journal_size_limit = 4194304", "PRAGMA wal_autocheckpoint = 1000"} {
		if _, err := t.conn.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	return d.loadTimeline(ctx, t)
}

// damaged marks an error of the engine that says so as [ErrDamaged].
func damaged(err error) error {
	if kind, _ := faultOf(err); kind == faultDamaged && !errors.Is(err, ErrDamaged) {
		return errors.Join(ErrDamaged, err)
	}
	return err
}

// link is the one connection of a pool of its own.
type link struct {
	*sql.Conn
	pool *sql.DB
}

func (l *link) Close() error { return errors.Join(l.Conn.Close(), l.pool.Close()) }

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
