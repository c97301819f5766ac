package fakeagent

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

func TestScreenOfAReadyAgent(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	rule := strings.Repeat("─", 120)
	s.painted("\x1b[?2004h", "\x1b]0;✳ fakeagent\x1b\\", rule+"\r\n❯ \r\n"+rule+"\r\n  ? for shortcuts")
	s.send("hi" + enter)
	s.painted("\x1b]0;◐ fakeagent\x1b\\", "● You said (2 bytes, sha256 8f434346): hi\r\n")
}

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	s := play(t, "--osc7501", "--osc9", "--osc133").ready()
	s.send("hi [[osc:7501;status=error;kind=auth]]" + enter)
	s.wait(ledger.Answered, 1)
	s.painted("\x1b]133;D;0\x1b\\")
	output := s.output()
	for _, body := range []string{
		"7501;status=idle", "133;A", "133;B", "133;C", "9;4;3;0", "7501;status=working",
		"7501;status=error;kind=auth", "9;4;0;0", "7501;status=done", "133;D;0",
	} {
		_, after, found := strings.Cut(output, "\x1b]"+body+"\x1b\\")
		if !found {
			t.Fatalf("%s was not announced in its place", body)
		}
		output = after
	}
}

func TestSilentWithoutFlags(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("hi" + enter)
	s.wait(ledger.Answered, 1)
	if output := s.output(); strings.Contains(output, "\x1b]7501") || strings.Contains(output, "\x1b]9;") || strings.Contains(output, "\x1b]133") {
		t.Errorf("announced: %q", output)
	}
}

func TestFloodHasItsSize(t *testing.T) {
	t.Parallel()
	const size = 20_000_003
	s := play(t, "--redraw-flood", "1MB").ready()
	s.painted("? for shortcuts") // what was printed before has come, too
	before := len(s.output())
	if before < 1_000_000 {
		t.Errorf("%d bytes before ready", before)
	}
	s.send(fmt.Sprintf("[[flood:%d]]", size) + enter)
	s.wait(ledger.Answered, 1)
	s.painted("● You said")
	if got := len(s.output()) - before; got < size || got > size+size/100+1_500_000 {
		t.Errorf("%d bytes, want a little more than %d", got, size)
	}
}

func TestFloodCanBeInterrupted(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("[[flood:100GB]]" + enter)
	s.wait(ledger.Prompt, 1)
	s.send("\x03")
	s.wait(ledger.Interrupted, 1)
	s.send("after" + enter)
	s.painted("): after")
}

func TestEchoAndLines(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("[[echo:a: b]][[lines:3]][[nonsense]]" + enter)
	s.painted("\x1b[J❯ [[echo", "a: b\r\n", "line 1\r\nline 2\r\nline 3\r\n", "): [[echo:a: b]][[lines:3]][[nonsense]]")
}

func TestRawInputIsRecorded(t *testing.T) {
	t.Parallel()
	s := play(t, "--ledger-keys").ready()
	s.send("a" + up + "\x00" + enter)
	records := s.until("the prompt", ledgertest.Has(ledger.Prompt, 1))
	var hex string
	for _, r := range ledger.Of(records, ledger.Key) {
		hex += r.Hex
	}
	if hex != "611b5b41000d" {
		t.Errorf("recorded %s", hex)
	}
}

func TestAlternateScreenShowsTheTranscript(t *testing.T) {
	t.Parallel()
	s := play(t, "--alt-screen").ready()
	s.send("[[lines:100]]" + enter)
	s.wait(ledger.Answered, 1)
	s.painted("\x1b[?1049h", "line 100\x1b[K", "\x1b[40;1H  ? for shortcuts")
}

func TestPipes(t *testing.T) {
	large := strings.Repeat("z", 100_000)
	for name, c := range map[string]struct {
		args        []string
		input, want string
		prompts     []string
	}{
		"lines":    {nil, "one\n\ntwo two\nlast", "): two two\n", []string{"one", "two two", "last"}},
		"question": {nil, "[[ask:Q?|A|B]]\nneither\nB\n", "? Q? [A|B]\n  ⎿  B\n", []string{"[[ask:Q?|A|B]]"}},
		"framed":   {[]string{"--framed"}, "3\na\nb100000\n" + large, "● You said (100000 bytes", []string{"a\nb", large}},
		"slow":     {[]string{"--slow-start", "100ms"}, "early\n", "): early\n", []string{"early"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := t.TempDir() + "/ledger"
			cmd := exec.Command(build.Build(t), append([]string{"--plain", "--ledger", file, "--max-life", "1m"}, c.args...)...)
			cmd.Stdin = strings.NewReader(c.input)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "fakeagent ready\n") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %q", err, out)
			}
			records, err := ledger.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if prompts := ledger.Prompts(records); len(prompts) != len(c.prompts) {
				t.Errorf("%d prompts, want %d", len(prompts), len(c.prompts))
			} else {
				for i, want := range c.prompts {
					if !prompts[i].Is(want) {
						t.Errorf("prompt %d is %+v", i, prompts[i])
					}
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	binary := build.Build(t)
	for name, args := range map[string][]string{
		"unknown flag":   {"--nonsense"},
		"unknown dialog": {"--dialog", "trusty"},
		"bad late":       {"--dialog", "late-trust"},
		"bad size":       {"--redraw-flood", "10XB"},
		"framed alone":   {"--framed"},
		"no terminal":    {"--name", "x"},
		"ledger":         {"ledger"},
	} {
		cmd := exec.Command(binary, args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || len(out) == 0 {
			t.Errorf("%s: exit code %d, output %q", name, code, out)
		}
	}
}

func TestReports(t *testing.T) {
	s := play(t).ready()
	s.send("hello there" + enter)
	s.wait(ledger.Answered, 1)
	var out bytes.Buffer
	if code := report([]string{"ledger", s.ledger}, &out, io.Discard); code != 0 || !strings.Contains(out.String(), "hello there") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	out.Reset()
	if code := report([]string{"verify", s.ledger}, &out, io.Discard); code != 0 || out.String() != "ok: 4 records, 1 prompts\n" {
		t.Errorf("exit code %d, %q", code, out.String())
	}
	if code := report([]string{"verify", s.ledger + "x"}, io.Discard, io.Discard); code != 1 {
		t.Errorf("exit code %d for a ledger that is not there", code)
	}
}
