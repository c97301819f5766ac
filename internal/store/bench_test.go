package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/store"
	"gascity/runtime"
)

func openBench(b *testing.B, path string) *store.DB {
	b.Helper()
	db, err := store.Open(b.Context(), store.Options{Path: path, Retain: store.Retention{Events: 1 << 20, Bytes: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func closeBench(b *testing.B, db *store.DB) {
	b.Helper()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen opens databases of different sizes that were closed normally or not. In the second
// case the whole database is checked.
func BenchmarkOpen(b *testing.B) {
	for _, events := range []int{0, 10_000, 100_000} {
		path := filepath.Join(b.TempDir(), "city.db")
		for kept := 0; kept < events || kept == 0; kept += 10_000 { // no more than memory holds
			db := openBench(b, path)
			for range min(events, 10_000) {
				appendBench(b, db)
			}
			closeBench(b, db)
		}
		for _, clean := range []string{"1", "0"} {
			b.Run("events="+strconv.Itoa(events)+"/clean="+clean, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					pool, err := sql.Open("sqlite", path)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := pool.ExecContext(b.Context(), "UPDATE timeline SET clean = "+clean); err != nil {
						b.Fatal(err)
					}
					pool.Close()
					b.StartTimer()
					db := openBench(b, path)
					b.StopTimer()
					closeBench(b, db)
					b.StartTimer()
				}
			})
		}
	}
}

func appendBench(b *testing.B, db *store.DB) {
	b.Helper()
	_, err := db.Append(b.Context(), client.Event{
		Kind: "session.started", Agent: "hello-world/worker", Session: "gc-city-hello-world--worker",
		Text: "the agent runs and is ready", Data: map[string]string{"instance": "0123456789ab", "seconds": "1.2"},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend appends 10,000 events and waits until they are written; "ns/append" is the time
// that a caller of Append waits for each.
func BenchmarkAppend(b *testing.B) {
	const each = 10_000
	path := filepath.Join(b.TempDir(), "city.db")
	var waited time.Duration
	for b.Loop() {
		db := openBench(b, path)
		begin := time.Now()
		for range each {
			appendBench(b, db)
		}
		waited += time.Since(begin)
		closeBench(b, db)
	}
	b.ReportMetric(float64(waited.Nanoseconds())/float64(b.N)/each, "ns/append")
	b.ReportMetric(each*float64(b.N)/b.Elapsed().Seconds(), "written/s")
}

func BenchmarkAddReceipt(b *testing.B) {
	for _, senders := range []int{1, 32} {
		b.Run(fmt.Sprint("senders=", senders), func(b *testing.B) {
			db := openBench(b, filepath.Join(b.TempDir(), "city.db"))
			content := runtime.TextContent(string(make([]byte, 1024)))
			var n atomic.Int64
			b.SetParallelism(senders)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := prompt.Receipt{ID: fmt.Sprint(n.Add(1)), Session: "s", State: prompt.Queued, Content: content}
					if _, _, err := db.AddReceipt(b.Context(), r); err != nil {
						b.Error(err)
					}
				}
			})
			closeBench(b, db)
		})
	}
}

func BenchmarkSaveRecord(b *testing.B) {
	db := openBench(b, filepath.Join(b.TempDir(), "city.db"))
	r := session.Record{Session: "s", Provider: "p", Screen: string(make([]byte, 4096))}
	for b.Loop() {
		if err := db.Save(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	closeBench(b, db)
}

// BenchmarkAfter reads the newest events, as a reader of the stream does, and all of 10,000.
func BenchmarkAfter(b *testing.B) {
	path := filepath.Join(b.TempDir(), "city.db")
	db := openBench(b, path)
	for range 10_000 {
		appendBench(b, db)
	}
	closeBench(b, db)
	db = openBench(b, path)
	appendBench(b, db)
	all, _, err := db.After(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	for name, id := range map[string]uint64{"newest": all[len(all)-2].ID, "all": 0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := db.After(b.Context(), id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	closeBench(b, db)
}
