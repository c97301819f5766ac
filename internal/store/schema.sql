-- Version 1. A later version is a migration of its own in schema.go; this file
-- never changes again.

CREATE TABLE session (
	provider TEXT NOT NULL,
	session  TEXT NOT NULL,
	body     TEXT NOT NULL, -- session.Record
	PRIMARY KEY (session, provider)
) STRICT;

CREATE TABLE incarnation (
	provider TEXT NOT NULL,
	session  TEXT NOT NULL,
	epoch    INTEGER NOT NULL,
	body     TEXT NOT NULL, -- session.InstanceRecord
	PRIMARY KEY (session, provider, epoch)
) STRICT;

CREATE TABLE pending (
	id    TEXT PRIMARY KEY,
	since INTEGER NOT NULL, -- times are nanoseconds since 1970
	body  TEXT NOT NULL     -- session.Pending
) STRICT;

CREATE TABLE wait (
	id    TEXT PRIMARY KEY,
	since INTEGER NOT NULL,
	body  TEXT NOT NULL -- session.Wait
) STRICT;

CREATE TABLE receipt (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE,
	session TEXT NOT NULL,
	key     TEXT NOT NULL, -- the sender's; empty: none
	final   INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	body    TEXT NOT NULL -- prompt.Receipt without its content
) STRICT;
CREATE UNIQUE INDEX receipt_key ON receipt (session, key) WHERE key <> '';
CREATE INDEX receipt_open ON receipt (seq) WHERE final = 0;
CREATE INDEX receipt_ended ON receipt (updated, seq) WHERE final = 1;

-- The blocks of a prompt, byte by byte, while its receipt is not final.
CREATE TABLE content (
	seq  INTEGER NOT NULL,
	n    INTEGER NOT NULL,
	type TEXT NOT NULL,
	text BLOB NOT NULL,
	path BLOB NOT NULL,
	PRIMARY KEY (seq, n)
) STRICT;

CREATE TABLE event (
	id   INTEGER PRIMARY KEY,
	at   INTEGER NOT NULL,
	size INTEGER NOT NULL,
	body TEXT NOT NULL -- client.Event
) STRICT;

-- Ids that were reserved or given and whose events are not kept: after < id <= upto.
CREATE TABLE hole (
	after INTEGER PRIMARY KEY,
	upto  INTEGER NOT NULL
) STRICT;

CREATE TABLE timeline (
	one       INTEGER PRIMARY KEY CHECK (one = 1),
	origin    INTEGER NOT NULL, -- the id before the first
	reserved  INTEGER NOT NULL, -- no id beyond has been given
	forgotten INTEGER NOT NULL, -- up to here retention has removed
	count     INTEGER NOT NULL,
	bytes     INTEGER NOT NULL,
	clean     INTEGER NOT NULL  -- 1: closed in good order
) STRICT;

CREATE TABLE usage (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	at       INTEGER NOT NULL,
	session  TEXT NOT NULL,
	agent    TEXT NOT NULL,
	instance TEXT NOT NULL,
	body     TEXT NOT NULL
) STRICT;
CREATE INDEX usage_session ON usage (session, at);
