package config

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandCredentials: a credential in a command is masked wherever it is; what only refers to one is shown.
func TestCommandCredentials(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`curl -d @- https://hooks.example.org/T0/canary`:                    `curl -d @- ********`,
		`curl -d @- "https://example.org/?a=1&token=canary"; true`:          `curl -d @- "********"; true`,
		`curl https://user:canary@example.org`:                              `curl ********`,
		`curl -H "Authorization: Bearer canary" https://example.org`:        `curl -H "Authorization: ********" https://example.org`,
		`curl -H 'X-Api-Key:canary' https://example.org/`:                   `curl -H 'X-Api-Key:********' https://example.org/`,
		`curl -s -u anna:canary https://example.org`:                        `curl -s -u anna:******** https://example.org`,
		`curl --user="anna:canary" https://example.org`:                     `curl --user="anna:********" https://example.org`,
		`API_TOKEN=canary send --title "$GC_NOTIFY_TITLE"`:                  `API_TOKEN=******** send --title "$GC_NOTIFY_TITLE"`,
		`send --api-token canary --to anna`:                                 `send --api-token ******** --to anna`,
		`send --password='canary with blanks' --to anna`:                    `send --password='********' --to anna`,
		`send -H "Authorization: Bearer $TOKEN" --token "$(cat key)"`:       `send -H "Authorization: Bearer $TOKEN" --token "$(cat key)"`,
		`PASSWORD=${P} GC_TOKEN=$T send`:                                    `PASSWORD=${P} GC_TOKEN=$T send`,
		`notify-send -- "$GC_NOTIFY_TITLE" "the token is used up"`:          `notify-send -- "$GC_NOTIFY_TITLE" "the token is used up"`,
		`printf '%s\n' "$GC_NOTIFY_TEXT" | mail -s "$GC_NOTIFY_TITLE" me`:   `printf '%s\n' "$GC_NOTIFY_TEXT" | mail -s "$GC_NOTIFY_TITLE" me`,
		`http POST https://example.org "Cookie: session=canary; id=canary"`: `http POST https://example.org "Cookie: ********"`,
	} {
		if got := maskCommand(command); got != want {
			t.Errorf("%s\nis shown as %s\nwant        %s", command, got, want)
		}
		toml := "[workspace]\nname = \"c\"\nstart_command = \"x\"\n[[agents]]\nname = \"a\"\n[[notify]]\nname = \"x\"\ntype = \"exec\"\ncommand = '''" + command + "'''\n"
		spans, err := HiddenSpans([]byte(toml))
		if err != nil {
			t.Error(err)
		}
		shown := toml
		for _, span := range slices.Backward(spans) {
			shown = shown[:span.From] + shown[span.To:]
		}
		if strings.Contains(shown, "canary") || (want == command) != strings.Contains(shown, command) {
			t.Errorf("the editor shows %s", shown)
		}
	}
}

// TestNotifyValues: the values of sinks are listed with their origins, without credentials.
func TestNotifyValues(t *testing.T) {
	t.Parallel()
	city, err := Parse("city.toml", []byte(`[workspace]
name = "c"
start_command = "x"
[[agents]]
name = "a"
[[notify]]
name = "chat"
type = "slack"
url = "https://hooks.example.org/T0/canary"
quiet = ["22:00-07:00"]
[[notify]]
name = "script"
type = "exec"
command = "curl -d @- https://hooks.example.org/T0/canary"
`), Catalog{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range city.Values() {
		got[v.Key] = v.Value + " " + v.Origin.String()
		if strings.Contains(v.Value, "canary") {
			t.Errorf("%s shows a credential: %s", v.Key, v.Value)
		}
	}
	for key, want := range map[string]string{
		"notify.chat.url":       `"********" city.toml:9`,
		"notify.chat.quiet":     `["22:00-07:00"] city.toml:10`,
		"notify.chat.min_turn":  `"5m0s" default`,
		"notify.script.command": `"curl -d @- ********" city.toml:14`,
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}
