package config_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gascity/internal/config"
)

// FuzzParse checks that no text makes the loader panic, and that every error has a position inside
// the text, with a caret inside its line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", full, config.Template(config.Starter{City: "x"}), "[[agents]]\nname='w'\nagents=1", "[providers]\na=1", "session={acp={x=1}}",
		"a.b.c=1\n[a]\n", "[[agent]]\n[[agents]]\n[agents.env]\nA=''", "[upstreams.a]\napi_key={}", "\xff", "x=[[1],[2,{a=3}]]",
		"[workspace]\nsession_template='{{template \"x\"}}'\n[[agents]]\nname='a'\nstart_command='x'", "[[agents]]\ncopy_files=[1,{}]",
		"[providers.a]\nbase='a'\npermission_modes={a=[1],b='x y'}", "[[agents.env]]\nx=1", "agents=[{name='x'}]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := config.Parse("city.toml", []byte(text), testCatalog())
		if err == nil {
			return
		}
		errs, ok := config.AsErrors(err)
		if !ok {
			t.Fatalf("an error without places: %v", err)
		}
		lines := strings.Split(text, "\n")
		for _, e := range errs {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1])+2 {
				t.Errorf("the place %d:%d is outside of the text: %s", e.Line, e.Column, e.Message)
			}
		}
	})
}
