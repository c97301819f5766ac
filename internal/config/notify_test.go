package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestParseDaySpan checks which texts are a part of the day.
func TestParseDaySpan(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "22-7", "22:00", "22:00-22:00", "24:00-01:00", "22:60-07:00", "2:00-07:00", "22:00-24:01", "22:00-07:00 ", "-1:00-07:00", "22:00--1:00"} {
		if s, err := ParseDaySpan(text); err == nil {
			t.Errorf("%q is %v, want an error", text, s)
		}
	}
	if s, err := ParseDaySpan("22:00-07:30"); err != nil || s != (DaySpan{22 * 60, 7*60 + 30}) {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestNotifyErrors checks that each wrong [[notify]] section is an error with its line and a
// remedy.
func TestNotifyErrors(t *testing.T) {
	t.Parallel()
	const head = "[workspace]\nname = \"c\"\nstart_command = \"x\"\n[[agents]]\nname = \"web-1\"\n[[notify]]\n" // the table begins in line 6
	for name, c := range map[string]struct{ toml, want string }{
		"no name":              {`type = "desktop"`, ":6:3: name is missing"},
		"no type":              {`name = "x"`, `the sink "x" has no type`},
		"unknown type":         {"name = \"x\"\ntype = \"sms\"", ":8:8: type cannot be \"sms\""},
		"no command":           {"name = \"x\"\ntype = \"exec\"", "needs command"},
		"empty command":        {"name = \"x\"\ntype = \"exec\"\ncommand = \"\"", "needs command"},
		"empty recipient":      {"name = \"x\"\ntype = \"email\"\nserver = \"mail.example.org:25\"\nfrom = \"a@b.c\"\nto = [\"\"]", `"" is not an e-mail address`},
		"secret address":       {"name = \"x\"\ntype = \"slack\"\nurl = \"https://user:sk-canary@host/x\"", "url is not the address"},
		"foreign key":          {"name = \"x\"\ntype = \"exec\"\ncommand = \"true\"\ntopic = \"t\"", ":10:9: a sink of type exec has no topic"},
		"no address":           {"name = \"x\"\ntype = \"slack\"\nurl = \"hooks.example.org\"", ":9:7: url is not the address"},
		"push address":         {"name = \"x\"\ntype = \"webpush\"\nurl = \"https://push.example.org\"", ":9:7: a sink of type webpush has no url"},
		"wrong kind":           {"name = \"x\"\ntype = \"desktop\"\non = [\"finished\", \"questions\"]", `did you mean "question"`},
		"wrong agent":          {"name = \"x\"\ntype = \"desktop\"\nagents = [\"api-*\"]", `:9:11: no agent is called "api-*"`},
		"wrong quiet hours":    {"name = \"x\"\ntype = \"desktop\"\nquiet = [\"22-7\"]", ":9:10: \"22-7\" is not a time of the day"},
		"half a rule":          {"name = \"x\"\ntype = \"desktop\"\nescalate_to = \"y\"", "belong together"},
		"unknown sink":         {"name = \"x\"\ntype = \"desktop\"\nescalate_to = \"y\"\nescalate_after = \"5m\"", `there is no [[notify]] with the name "y"`},
		"itself":               {"name = \"x\"\ntype = \"desktop\"\nescalate_to = \"x\"\nescalate_after = \"5m\"", "escalates to itself"},
		"open mail":            {"name = \"x\"\ntype = \"email\"\nserver = \"mail.example.org:25\"\nfrom = \"a@b.c\"\nto = [\"a@b.c\"]\ntls = \"none\"", "others could read"},
		"no e-mail address":    {"name = \"x\"\ntype = \"email\"\nserver = \"mail.example.org:25\"\nfrom = \"a@b.c\"\nto = [\"a@b.c\", \"person\"]", `:11:16: "person" is not an e-mail address`},
		"unknown login":        {"name = \"x\"\ntype = \"slack\"\nurl = \"credential:hook\"", "there is no [credentials.hook]"},
		"answer, no buttons":   {"name = \"x\"\ntype = \"slack\"\nurl = \"env:HOOK\"\nanswer = true", ":10:10: a sink of type slack cannot have answer buttons: a webhook only receives messages"},
		"answer by mail":       {"name = \"x\"\ntype = \"email\"\nserver = \"mail.example.org:25\"\nfrom = \"a@b.c\"\nto = [\"a@b.c\"]\nanswer = true", "programs that check mails follow links"},
		"no person may answer": {"name = \"x\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"7\"\nanswer = true", `does not say who may answer`},
		"no user":              {"name = \"x\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"7\"\nanswer = true\nanswer_users = [\"7\", \"@anna\"]", `:12:22: "@anna" is not the number of a telegram user`},
		"users of ntfy":        {"name = \"x\"\ntype = \"ntfy\"\ntopic = \"t\"\nanswer_users = [\"7\"]", "a sink of type ntfy has no answer_users"},
		"nowhere to answer":    {"name = \"x\"\ntype = \"ntfy\"\ntopic = \"t\"\nanswer = true", "whose address is unknown"},
		"one bot twice": {
			"name = \"x\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"7\"\nanswer = true\nanswer_users = [\"7\"]\n" +
				"[[notify]]\nname = \"y\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"8\"\nanswer = true\nanswer_users = [\"7\"]", `the sinks "x" and "y" have the same bot`,
		},
		"two of a name": {"name = \"x\"\ntype = \"desktop\"\n[[notify]]\nname = \"x\"\ntype = \"desktop\"", "there are two sinks named"},
	} {
		_, err := Parse("city.toml", []byte(head+c.toml), Catalog{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), "sk-canary") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
	city, err := Parse("city.toml", []byte(head+"name = \"x\"\ntype = \"slack\"\nurl = \"https://hooks.example.org/T0/secret\"\nquiet = [\"22:00-07:00\"]\non = []\n"), Catalog{})
	if err != nil || len(city.Notify) != 1 || strings.Contains(city.Notify[0].URL.String(), "secret") {
		t.Errorf("a valid table: %v", err)
	}
	for name, toml := range map[string]string{
		"telegram": "name = \"x\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"7\"\nanswer = true\nanswer_users = [\"7\", \"9007199254740991\"]\n" +
			"[[notify]]\nname = \"y\"\ntype = \"telegram\"\ntoken = \"env:T\"\nchat = \"8\"\n",
		"ntfy": "name = \"x\"\ntype = \"ntfy\"\ntopic = \"t\"\nanswer = true\n[web]\nurl = \"https://box.example\"\n",
	} {
		if city, err := Parse("city.toml", []byte(head+toml), Catalog{}); err != nil || !city.Notify[0].Answer {
			t.Errorf("%s with answer = true: %v", name, err)
		}
	}
}
