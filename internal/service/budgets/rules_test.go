package budgets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/config"
	"gascity/internal/domain/usage"
	"gascity/internal/service/budgets"
)

func TestRulesOfACity(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("city.toml", `
[usage]
prices = "my.toml"
[[usage.budgets]]
name = "work"
scope = "session"
measure = "time"
limit = "1h"
window = "24h"
act = "stop"
silence = "5m"
`)
	write("my.toml", "version = \"mine\"\n[[price]]\nmodel = \"m\"\noutput = 2\n")
	city, err := config.Load(t.Context(), filepath.Join(dir, "city.toml"), config.Catalog{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := budgets.RulesOf(city)
	if err != nil {
		t.Fatal(err)
	}
	want := []usage.Budget{{
		Name: "work", Scope: usage.ScopeSession, Measure: usage.MeasureTime, Limit: 3600, Window: 24 * time.Hour, Act: usage.ActStop, Silence: 5 * time.Minute,
	}}
	if diff := cmp.Diff(want, rules.Budgets); diff != "" || rules.Prices.Version != "mine" {
		t.Errorf("prices %q, budgets (-want +got)\n%s", rules.Prices.Version, diff)
	}
	write("my.toml", "version = \"mine\"\n[[price]]\nmodell = \"m\"\n")
	if _, err := budgets.RulesOf(city); err == nil || !strings.Contains(err.Error(), `my.toml:3:1: unknown key "price.modell"`) || !strings.Contains(err.Error(), "city.toml:3") {
		t.Errorf("a mistake in the table is %v, want its place and that of its name", err)
	}
	city.Usage.Prices = ""
	if rules, err := budgets.RulesOf(city); err != nil || len(rules.Prices.Prices) == 0 {
		t.Errorf("without a table of its own: %v", err)
	}
}
