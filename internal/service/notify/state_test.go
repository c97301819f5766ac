package notify

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/domain/notification"
	"gascity/internal/store"
)

// BenchmarkSaveState measures one save of the state with many open subjects.
func BenchmarkSaveState(b *testing.B) {
	for _, open := range []int{10, 200, 1000, 5000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			db, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "city.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			state := notification.State{Sinks: map[string]time.Time{"x": time.Now()}}
			for i := range open {
				id := fmt.Sprintf("q-%07d", i)
				state.Open = append(state.Open, notification.Subject{
					ID: id, Kind: notification.Question, Agent: "coder-17", Session: "town-coder-17", Question: id,
					Text: "coder-17 asks: May I delete the directory build, and everything in it?", Since: time.Now(),
				})
			}
			for b.Loop() {
				if err := db.SaveNotificationState(b.Context(), state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
