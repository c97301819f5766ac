package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/store"
	"gascity/test/storetest"
)

func stores(db *store.DB) storetest.Stores {
	return storetest.Stores{Records: db, Pending: db, Waits: db, Receipts: db, Events: db, Usage: db, Notifications: db}
}

func TestConformance(t *testing.T) {
	open := map[string]*store.DB{} // by test
	reopen := func(t *testing.T) storetest.Stores {
		if old := open[t.Name()]; old != nil {
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
		}
		const ages = 100 * 365 * 24 * time.Hour
		db, err := store.Open(t.Context(), store.Options{
			Path:   filepath.Join(dirOf(t), "city.db"),
			Retain: store.Retention{Age: ages, UsageAge: ages}, // the cases live in the past
		})
		if err != nil {
			t.Fatal(err)
		}
		open[t.Name()] = db
		return stores(db)
	}
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) storetest.Stores {
			dirOf(t) // is removed after the store is closed
			t.Cleanup(func() {
				if err := open[t.Name()].Close(); err != nil {
					t.Error(err)
				}
			})
			return reopen(t)
		},
		Reopen: reopen,
	})
}

// dirOf returns the directory of the current test.
func dirOf(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "..", "city")
}
