package config_test

import (
	"strings"
	"testing"
	"time"

	"gascity/internal/config"
)

// TestCredentialSections checks the keys of [credentials.NAME] sections and their mistakes.
func TestCredentialSections(t *testing.T) {
	const good = `
[credentials.team]
command = "login"
[upstreams.u]
auth_token = "credential:team"
[[agents]]
name = "a"
start_command = "x"
credentials = ["team"]
`
	city, err := config.Parse("city.toml", []byte(good), config.Catalog{})
	if err != nil {
		t.Fatal(err)
	}
	if c := city.Credentials["team"]; c.RefreshBefore != 5*time.Minute || c.Timeout != 30*time.Second || c.Type != "token" {
		t.Errorf("the defaults are %+v", c)
	}
	if s := city.Upstreams["u"].AuthToken; s.Kind() != config.SecretCredential || s.Reference() != "team" {
		t.Errorf("the upstream's token is %s", s)
	}
	for old, row := range map[string]struct{ now, wrong string }{
		`command = "login"`:      {``, "exactly one source, but has 0"},
		`command = "login" `:     {`command = "login"` + "\nenv = \"X\"", "exactly one source, but has 2"},
		`command = "login"  `:    {`env = "X"` + "\nlifetime = \"1h\"", "cannot be renewed"},
		`credentials = ["team"]`: {`credentials = ["tame"]`, "there is no [credentials.tame]"},
		`"credential:team"`:      {`"credential:other"`, "there is no [credentials.other]"},
		`command = "login"   `:   {`command = "login"` + "\nvariable = \"A B\"", "not the name of an environment variable"},
		`command = "login"    `:  {`command = "login"` + "\ntype = \"x\"", "x"},
		`command = "login"     `: {`command = "login"` + "\ntimeout = \"0s\"", "cannot be zero"},
	} {
		text := strings.Replace(good, strings.TrimSpace(old), row.now, 1)
		if _, err := config.Parse("city.toml", []byte(text), config.Catalog{}); err == nil || !strings.Contains(err.Error(), row.wrong) {
			t.Errorf("%s: %v, want something of %q", row.now, err, row.wrong)
		}
	}
}
