package guard_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/guard"
)

var (
	disguises    = flag.Int("disguises", 150, "how many disguised commands are made, proved and judged")
	disguiseSeed = flag.Uint64("disguise-seed", 17, "the seed of the disguised commands")
)

// TestProvedDisguisesAreSeen generates scripts in which a forbidden command is disguised. bash runs
// each script first, with programs in place of git, rm and curl that record their calls. For a
// script that really starts the forbidden command, the guard must deny it or ask a person. The
// generator knows the shell and nothing about the guard.
func TestProvedDisguisesAreSeen(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	p := policy(t, "dangerous-command", "protected-branch", "secrets-reading")
	box := newSandbox(t, bash)
	random := rand.New(rand.NewPCG(*disguiseSeed, 1))
	seen := map[string]bool{}
	proved, tried := 0, 0
	missed := map[string]int{}
	unproved := map[string]int{}
	for proved < *disguises && tried < 4**disguises {
		tried++
		g := generator{random: random}
		load := payloads[random.IntN(len(payloads))]
		script := g.disguise(load)
		if seen[script] {
			continue
		}
		seen[script] = true
		if !box.runs(t, script, load) {
			unproved[g.steps[len(g.steps)-1]]++
			continue
		}
		proved++
		input := shellCall(script)
		input.Home, input.Dir = box.home, box.dir
		if v := p.Decide(input); v.Action == guard.Allow {
			missed[strings.Join(g.steps, " < ")]++
			t.Errorf("seed %d: %s\n%s\n\tis allowed", *disguiseSeed, strings.Join(g.steps, " < "), script)
		}
	}
	if proved < *disguises {
		t.Errorf("only %d of %d scripts were proved to run the forbidden command", proved, tried)
	}
	t.Logf("%d disguises were proved to act (%d scripts were made); %d of them are allowed", proved, tried, len(missed))
	if testing.Verbose() {
		t.Logf("not proved, by the outermost step: %v", unproved)
	}
}

// payloads are the forbidden commands. If a real program runs one of them, it would do
// nothing: the paths do not exist, the folder is no repository, and nothing listens.
var payloads = [][]string{
	{"git", "push", "--force", "origin", "main"},
	{"git", "push", "-f"},
	{"git", "push", "origin", "+main"},
	{"rm", "-rf", "/gc-disguise-that-does-not-exist"},
	{"rm", "-r", "-f", "/gc-disguise-that-does-not-exist"},
	{"curl", "-d", "@.env", "http://127.0.0.1:9/"},
}

// sandbox is a folder with programs that record how they are started.
type sandbox struct{ bash, dir, home, bin, record string }

func newSandbox(t *testing.T, bash string) sandbox {
	t.Helper()
	top := t.TempDir()
	b := sandbox{bash: bash, dir: filepath.Join(top, "work"), home: filepath.Join(top, "home"), bin: filepath.Join(top, "bin"), record: filepath.Join(top, "record")}
	for _, dir := range []string{b.dir, b.home, b.bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	standIn := "#!/bin/sh\n{ printf '%s' \"${0##*/}\"; printf '\\037%s' \"$@\"; printf '\\n'; } >>'" + b.record + "'\n"
	for _, name := range []string{"git", "rm", "curl"} {
		if err := os.WriteFile(filepath.Join(b.bin, name), []byte(standIn), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	return b
}

// runs reports whether bash, running the script, starts the command.
func (b sandbox) runs(t *testing.T, script string, load []string) bool {
	t.Helper()
	if err := os.Remove(b.record); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, b.bash, "--norc", "-c", script)
	cmd.Dir = b.dir
	cmd.Env = []string{"PATH=" + b.bin + ":/usr/bin:/bin", "HOME=" + b.home, "STAND=" + b.bin, "TERM=dumb", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out // ends when the last child has closed it
	_ = cmd.Run()                       // how a disguise ends says nothing
	got, err := os.ReadFile(b.record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return slices.Contains(strings.Split(string(got), "\n"), strings.Join(load, "\x1f"))
}

// generator makes one disguise.
type generator struct {
	random *rand.Rand
	steps  []string
	names  int
}

// disguise returns a script that runs the command in a disguised form.
func (g *generator) disguise(load []string) string {
	var script string
	if g.random.IntN(3) == 0 {
		s := pick(g, wordSteps)
		g.steps = append(g.steps, s.name)
		script = s.make(g, load)
	} else {
		script = g.spelled(load)
	}
	for range 1 + g.random.IntN(3) {
		s := pick(g, scriptSteps)
		if s.alone && len(g.steps) > 0 && strings.Contains(script, "\n") {
			continue
		}
		g.steps = append(g.steps, s.name)
		script = s.make(g, script)
	}
	if len(g.steps) == 0 {
		g.steps = append(g.steps, "spelling")
	}
	return script
}

func pick[T any](g *generator, from []T) T { return from[g.random.IntN(len(from))] }

// name returns a name that the script has not used.
func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("%c%d", 'a'+g.random.IntN(26), g.names)
}

// spelled returns a text from which the shell makes exactly the given words.
func (g *generator) spelled(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if g.random.IntN(3) == 0 {
			out[i] = g.word(w)
		}
	}
	return strings.Join(out, " ")
}

// word returns one word, written in another way.
func (g *generator) word(w string) string {
	cut := 1 + g.random.IntN(len(w)-1)
	switch g.random.IntN(14) {
	case 0:
		return g.quote(w)
	case 1:
		return w[:cut] + `""` + w[cut:]
	case 2:
		return w[:cut] + "''" + w[cut:]
	case 3:
		return w[:cut] + `\` + w[cut:]
	case 4:
		return ansi(w, `\x%02x`)
	case 5:
		return ansi(w, `\%03o`)
	case 6:
		return "${" + g.name() + ":-" + w + "}"
	case 7:
		return "$(echo " + w + ")"
	case 8:
		return "`printf %s " + w + "`"
	case 9:
		return "$(echo " + base64.StdEncoding.EncodeToString([]byte(w)) + " | base64 -d)"
	case 10:
		return w[:cut] + "\\\n" + w[cut:]
	case 11:
		return `"$(printf '` + octal(w) + `')"`
	case 12:
		return `$(rev <<< ` + reversed(w) + `)`
	}
	return `"` + w[:cut] + `"'` + w[cut:] + `'`
}

func ansi(text, format string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String() + "'"
}

func octal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03o`, text[i])
	}
	return b.String()
}

func reversed(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}

// quote returns a text as one word, quoted in one of the ways that a shell has.
func (g *generator) quote(text string) string {
	switch g.random.IntN(3) {
	case 0:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
	case 1:
		if !strings.ContainsAny(text, "\x00") {
			return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(text) + "'"
		}
	}
	return single(text)
}

func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// c returns a text as a string literal of C, as awk, perl and python read it.
func c(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "$", `\$`, "@", `\@`).Replace(text) + `"`
}

// plainC does what c does for languages in which $ and @ have no meaning in a string.
func plainC(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

type wordStep struct {
	name string
	make func(g *generator, words []string) string
}

// wordSteps run the words of a command without writing them as a command.
var wordSteps = []wordStep{
	{"variables", func(g *generator, w []string) string {
		a, b := g.name(), g.name()
		return fmt.Sprintf("%s=%s; %s=%s; $%s $%s %s", a, w[0], b, g.quote(w[1]), a, b, strings.Join(w[2:], " "))
	}},
	{"one variable", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf("%s=%s; $%s", a, g.quote(strings.Join(w, " ")), a)
	}},
	{"array", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=(%s); "${%s[@]}"`, a, g.spelled(w), a)
	}},
	{"array by index", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=(%s); "${%s[0]}" "${%s[@]:1}"`, a, strings.Join(w, " "), a, a)
	}},
	{"associative array", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`declare -A %s=([p]=%s); "${%s[p]}" %s`, a, w[0], a, strings.Join(w[1:], " "))
	}},
	{"positional parameters", func(g *generator, w []string) string { return `set -- ` + g.spelled(w) + `; "$@"` }},
	{"function with words", func(g *generator, w []string) string {
		f := g.name()
		return fmt.Sprintf(`%s() { "$@"; }; %s %s`, f, f, g.spelled(w))
	}},
	{"function for a program", func(g *generator, w []string) string {
		f := g.name()
		return fmt.Sprintf(`%s() { %s "$@"; }; %s %s`, f, w[0], f, strings.Join(w[1:], " "))
	}},
	{"xargs words", func(g *generator, w []string) string {
		return fmt.Sprintf("echo %s | xargs %s", g.quote(strings.Join(w[1:], " ")), w[0])
	}},
	{"xargs program", func(_ *generator, w []string) string {
		return fmt.Sprintf("printf '%%s\\n' %s | xargs env", strings.Join(w, " "))
	}},
	{"xargs with NUL", func(_ *generator, w []string) string {
		return fmt.Sprintf("printf '%%s\\0' %s | xargs -0 %s", strings.Join(w[1:], " "), w[0])
	}},
	{"xargs -I", func(_ *generator, w []string) string {
		return fmt.Sprintf("echo %s | xargs -I%% %s %% %s", w[1], w[0], strings.Join(w[2:], " "))
	}},
	{"read", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf("read -r %s <<< %s; $%s", a, g.quote(strings.Join(w, " ")), a)
	}},
	{"read -a", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`read -ra %s <<< %s; "${%s[@]}"`, a, g.quote(strings.Join(w, " ")), a)
	}},
	{"mapfile", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`mapfile -t %s < <(printf '%%s\n' %s); "${%s[@]}"`, a, strings.Join(w, " "), a)
	}},
	{"printf -v", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`printf -v %s '%%s' %s; $%s %s`, a, w[0], a, strings.Join(w[1:], " "))
	}},
	{"name reference", func(g *generator, w []string) string {
		a, b := g.name(), g.name()
		return fmt.Sprintf(`%s=%s; declare -n %s=%s; $%s %s`, a, w[0], b, a, b, strings.Join(w[1:], " "))
	}},
	{"indirect variable", func(g *generator, w []string) string {
		a, b := g.name(), g.name()
		return fmt.Sprintf(`%s=%s; %s=%s; ${!%s} %s`, a, w[0], b, a, b, strings.Join(w[1:], " "))
	}},
	{"replaced text", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=%s; ${%s/Q/} %s`, a, w[0][:1]+"Q"+w[0][1:], a, strings.Join(w[1:], " "))
	}},
	{"small letters", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=%s; ${%s,,} %s`, a, strings.ToUpper(w[0]), a, strings.Join(w[1:], " "))
	}},
	{"substring", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=xx%syy; ${%s:2:%d} %s`, a, w[0], a, len(w[0]), strings.Join(w[1:], " "))
	}},
	{"prefix removed", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`%s=no-%s; "${%s#no-}" %s`, a, w[0], a, strings.Join(w[1:], " "))
	}},
	{"loop over words", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`for %s in %s; do $%s %s; done`, a, w[0], a, strings.Join(w[1:], " "))
	}},
	{"loop over options", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`for %s in %s; do %s $%s %s; done`, a, w[1], w[0], a, strings.Join(w[2:], " "))
	}},
	{"pattern for a program", func(_ *generator, w []string) string {
		return fmt.Sprintf(`"$STAND"/%s? %s`, w[0][:len(w[0])-1], strings.Join(w[1:], " "))
	}},
	{"path of a program", func(_ *generator, w []string) string {
		return fmt.Sprintf(`"$STAND"/%s %s`, w[0], strings.Join(w[1:], " "))
	}},
	{"path found", func(_ *generator, w []string) string {
		return fmt.Sprintf(`"$(command -v %s)" %s`, w[0], strings.Join(w[1:], " "))
	}},
	{"path by type", func(_ *generator, w []string) string {
		return fmt.Sprintf("`type -P %s` %s", w[0], strings.Join(w[1:], " "))
	}},
	{"hash", func(g *generator, w []string) string {
		a := g.name()
		return fmt.Sprintf(`hash -p "$STAND/%s" %s; %s %s`, w[0], w[0], w[0], strings.Join(w[1:], " ")) + "; : " + a
	}},
	{"braces", func(_ *generator, w []string) string { return "{" + strings.Join(w, ",") + "}" }},
	{"braces around the rest", func(_ *generator, w []string) string {
		return w[0] + " {" + strings.Join(append(slices.Clone(w[1:]), ""), ",") + "}"
	}},
	{"find -exec", func(g *generator, w []string) string { return `find . -maxdepth 0 -exec ` + g.spelled(w) + ` \;` }},
	{"find -execdir", func(g *generator, w []string) string { return `find . -maxdepth 0 -execdir ` + g.spelled(w) + ` ';'` }},
	{"find -ok", func(_ *generator, w []string) string {
		return `echo y | find . -maxdepth 0 -ok ` + strings.Join(w, " ") + ` \;`
	}},
	{"env -S", func(_ *generator, w []string) string { return `env -S ` + single(strings.Join(w, `\_`)) }},
	{"env -S, the rest outside", func(_ *generator, w []string) string {
		return `env -S ` + single(w[0]+`\t`+w[1]) + " " + strings.Join(w[2:], " ")
	}},
	{"env -S in a cluster", func(_ *generator, w []string) string {
		return `env -vS` + single("A=b "+strings.Join(w, ` `))
	}},
	{"env --split-string", func(_ *generator, w []string) string {
		return `env --split-string=` + single(`"`+strings.Join(w, `" "`)+`"`)
	}},
	{"env with a variable in -S", func(_ *generator, w []string) string {
		return `P=` + w[0] + ` env -S ` + single("${P} "+strings.Join(w[1:], " "))
	}},
	{"start-stop-daemon", func(_ *generator, w []string) string {
		return fmt.Sprintf(`/usr/sbin/start-stop-daemon -S -x "$STAND/%s" -- %s`, w[0], strings.Join(w[1:], " "))
	}},
	{"jobs -x", func(_ *generator, w []string) string { return "jobs -x " + strings.Join(w, " ") }},
	{"python list", func(_ *generator, w []string) string {
		return "/usr/bin/python3 -c " + single("import subprocess; subprocess.call([\""+strings.Join(w, `","`)+"\"])")
	}},
	{"perl list", func(_ *generator, w []string) string {
		return "perl -e " + single("exec qw("+strings.Join(w, " ")+")")
	}},
	{"awk -v", func(_ *generator, w []string) string {
		return fmt.Sprintf("awk -v c=%s 'BEGIN{system(c)}'", single(strings.Join(w, " ")))
	}},
	{"shell with words", func(g *generator, w []string) string {
		return fmt.Sprintf(`bash -c '"$@"' _ %s`, g.spelled(w))
	}},
	{"shell with $0", func(g *generator, w []string) string {
		return fmt.Sprintf(`sh -c '$0 "$@"' %s`, g.spelled(w))
	}},
	{"make arguments", func(_ *generator, w []string) string {
		return fmt.Sprintf(`make -s --eval='x:;@$(P) %s' P=%s x`, strings.Join(w[1:], " "), w[0])
	}},
}

type scriptStep struct {
	name  string
	alone bool // it takes a script of one line
	make  func(g *generator, script string) string
}

// around returns a step that puts the script between two texts.
func around(name, before, after string) scriptStep {
	return scriptStep{name: name, make: func(_ *generator, s string) string { return before + s + after }}
}

// quoted returns a step that puts the quoted script between two texts.
func quoted(name, before, after string) scriptStep {
	return scriptStep{name: name, make: func(g *generator, s string) string { return before + g.quote(s) + after }}
}

// escaped returns a step that passes the script as a string to a program of another language.
func escaped(name, before, after string, as func(string) string) scriptStep {
	return scriptStep{name: name, make: func(_ *generator, s string) string { return before + single(strings.ReplaceAll(after, "%", as(s))) }}
}

// oneLine returns a step for scripts that have one line and no single quotes.
func oneLine(name, before, after string) scriptStep {
	return scriptStep{name: name, alone: true, make: func(g *generator, s string) string {
		if strings.ContainsAny(s, "'\n\\$%") {
			return "sh -c " + g.quote(s)
		}
		return before + s + after
	}}
}

// scriptSteps run a script.
var scriptSteps = []scriptStep{
	around("subshell", "(", "\n)"), around("block", "{ ", "\n}"), around("if", "if true; then ", "\nfi"), around("while", "while ", "\ndo break; done"), around("until", "until false; do ", "\nbreak; done"), around("for", "for q in 1; do ", "\ndone"),
	around("case", "case x in x) ", "\n;; esac"), around("and", "true && { ", "\n}"), around("or", "false || { ", "\n}"), around("not", "! { ", "\n}"), around("background", "{ ", "\n} & wait"), around("time", "time { ", "\n}"), around("for arithmetic", "for ((q=0;q<1;q++)); do ", "\ndone"),
	around("function", "fn() { ", "\n}; fn"), around("function in a subshell", "function fs ( ", "\n); fs"), around("substitution", "echo $(", "\n)"), around("assignment", "v=$(", "\n)"), around("quoted substitution", `: "$(`, "\n)\""), around("default value", ": ${nothing:=$(", "\n)}"),
	around("process substitution", "cat <(", "\n)"), around("process substitution for output", "echo > >(", "\n)"), around("arithmetic", "echo $((1+$(", "\n) 1))"), around("index", "i[$(", "\n)0]=1"), around("test", "[[ -z $(", "\n) ]]"), around("here-document substitution", "cat <<E\n$(", "\n)\nE\n"),
	around("here-string", "cat <<< \"$(", "\n)\""), around("coproc", "coproc { ", "\n}; wait"), around("pipe", "{ ", "\n} | cat"), around("pipe target", "echo | { ", "\n}"), around("exported function", "fe() { ", "\n}; export -f fe; bash -c fe"), around("trap around", "tr() { ", "\n}; trap tr EXIT"),
	around("command not found", "command_not_found_handle() { ", "\n}; no-such-program-here"), around("select", "echo 1 | select q in 1; do ", "\nbreak; done"), around("redirected block", "{ ", "\n} >/dev/null 2>&1"), around("function DEBUG trap", "td() { trap - DEBUG; ", "\n}; trap td DEBUG; :"),

	quoted("sh -c", "sh -c ", ""), quoted("bash -c", "bash -c ", ""), quoted("bash -ec", "bash -e -o pipefail -c ", ""), quoted("dash -c", "dash -c ", ""), quoted("eval", "eval ", ""), quoted("command eval", "command eval ", ""), quoted("builtin eval", "builtin eval ", ""), quoted("exec", "(exec bash -c ", ")"),
	quoted("exec -a", "(exec -a init bash -c ", ")"), quoted("env sh", "env A=b sh -c ", ""), quoted("env -i", `env -i PATH="$PATH" bash -c `, ""), quoted("nice", "nice -n 1 bash -c ", ""), quoted("nohup", "nohup bash -c ", ""), quoted("timeout", "timeout 15 bash -c ", ""), quoted("timeout -k", "timeout -k 3 15 sh -c ", ""),
	quoted("setsid", "setsid -w bash -c ", ""), quoted("stdbuf", "stdbuf -oL bash -c ", ""), quoted("time -p", "time -p bash -c ", ""), quoted("command", "command bash -c ", ""), quoted("flock", "flock ./lock -c ", ""), quoted("script", "script -qec ", " /dev/null"), quoted("ionice", "ionice -c 3 bash -c ", ""),
	quoted("xargs sh -c", "echo | xargs sh -c ", ""), quoted("xargs -I sh", "echo ", " | xargs -d '\\n' -I{} bash -c '{}'"), quoted("find sh -c", "find . -maxdepth 0 -exec bash -c ", ` \;`), quoted("find sh -c +", "find . -maxdepth 0 -exec sh -c ", " {} +"), quoted("setarch", "setarch -R bash -c ", ""), quoted("taskset", "taskset -c 0 bash -c ", ""),
	quoted("env -S sh", "env -S 'bash -c' ", ""), quoted("env --", "env -- bash -c ", ""), quoted("/proc/self/exe", "/proc/self/exe -c ", ""), quoted("exec /proc/self/exe", "(exec /proc/self/exe -c ", ")"), quoted("$BASH", "$BASH -c ", ""), quoted("\"$BASH\"", `"${BASH}" -c `, ""), quoted("thread-self", "/proc/thread-self/exe -c ", ""),
	quoted("pattern for sh", "/bin/bas? -c ", ""), quoted("path of bash", "/usr/bin/../bin/bash -c ", ""), quoted("ld.so", "/lib64/ld-linux-x86-64.so.2 /bin/bash -c ", ""), quoted("unbuffered", "stdbuf -i0 -o0 -e0 sh -c ", ""), quoted("unshare", "unshare bash -c ", ""), quoted("setpriv", "setpriv --no-new-privs bash -c ", ""), quoted("chrt", "chrt -o 0 bash -c ", ""),

	quoted("here-string to sh", "sh <<< ", ""), quoted("here-string to bash -s", "bash -s <<< ", ""), quoted("echo to sh", "echo ", " | sh"), quoted("printf to sh", "printf '%s\\n' ", " | bash"), quoted("printf %b to sh", "printf '%s' ", " | tee /dev/null | bash"), quoted("sh by process substitution", "bash <(printf '%s\\n' ", ")"),
	quoted("sh input by process substitution", "bash < <(printf '%s\\n' ", ")"), quoted("source", "source <(printf '%s\\n' ", ")"), quoted("dot", ". /dev/stdin <<< ", ""), quoted("output to sh", "printf '%s\\n' ", " > >(bash)"), quoted("output and errors to sh", "printf '%s\\n' ", " &> >(bash)"), quoted("tee to sh", "printf '%s\\n' ", " | tee >(bash) >/dev/null"),
	quoted("exec to sh", "exec > >(bash); printf '%s\\n' ", ""), quoted("tee -a to sh", "tee -a >(sh) >/dev/null <<< ", ""), quoted("dd to sh", "dd status=none of=>(bash) <<< ", ""), quoted("descriptor", "bash /dev/fd/3 3<<< ", ""), quoted("descriptor as input", "bash <&3 3<<< ", ""), quoted("exec descriptor", "exec 4<<< ", "; bash <&4"),
	quoted("exec input", "exec <<< ", "; bash"), quoted("cat to sh", "cat <<< ", " | sh"), quoted("while read eval", "while IFS= read -r l; do eval \"$l\"; done <<< ", ""), quoted("coproc sh", "coproc bash; printf '%s\\n' ", " >&${COPROC[1]}; eval \"exec ${COPROC[1]}>&-\"; wait"), quoted("source substitution", "source /dev/stdin < <(printf '%s\\n' ", ")"),
	quoted("function reads sh", "fr() { bash; }; fr <<< ", ""), quoted("sh -s with words", "sh -s -- a b <<< ", ""), quoted("swapped descriptor", "bash 0<&5 5<<< ", ""), quoted("output descriptor as input", "bash 0>&6 6<<< ", ""),

	quoted("variable", "vs=", "; eval \"$vs\""), quoted("variable to bash", "vb=", "; bash -c \"$vb\""), quoted("environment variable", "VE=", " bash -c 'eval \"$VE\"'"), quoted("export", "export VX=", "; bash -c 'bash -c \"$VX\"'"), quoted("array eval", "va=(", "); eval \"${va[0]}\""), quoted("positional eval", "set -- ", "; eval \"$1\""),
	quoted("printf -v eval", "printf -v pv %s ", "; eval \"$pv\""), quoted("read eval", "IFS= read -rd '' rv <<< ", "; eval \"$rv\""), quoted("mapfile eval", "mapfile mv <<< ", "; eval \"${mv[*]}\""), quoted("variable to sh", "vp=", "; echo \"$vp\" | sh"), quoted("variable here-string", "vh=", "; bash <<< \"$vh\""), quoted("sh -c with a word", "sh -c 'eval \"$1\"' _ ", ""),
	quoted("eval in pieces", "ep=", "; eval \"${ep:0:3}${ep:3}\""), quoted("@E", "ee=", "; eval ${ee@Q} >/dev/null 2>&1; eval \"${ee@E}\""), quoted("$_", ": ", "; eval \"$_\""), quoted("local", "fl() { local v=", "; eval \"$v\"; }; fl"), quoted("loop eval", "for le in ", "; do eval \"$le\"; done"), quoted("case eval", "case ", " in *) eval \"$BASH_COMMAND\";; esac; eval \"$_\""),

	quoted("trap EXIT", "trap ", " EXIT"), quoted("trap DEBUG", "bash -c 'trap \"$0\" DEBUG; :' ", ""), quoted("trap ERR", "trap ", " ERR; false"), quoted("trap 0", "bash -c 'trap -- \"$1\" 0' _ ", ""), quoted("trap signal", "trap ", " USR1; kill -USR1 $$"), quoted("trap RETURN", "trap ", " RETURN; set -T; tf() { :; }; tf"),
	quoted("mapfile callback", "mapfile -c1 -C ", "' #' mc <<< x"), quoted("readarray callback", "readarray -tc1 -C", "' #' rc <<< x"), quoted("compgen callback", "compgen -C ", " x"), quoted("function by environment", "env 'BASH_FUNC_ls%%=() { eval '", "'; }' bash -c ls"), quoted("PROMPT_COMMAND", "PROMPT_COMMAND=", " bash --norc -i <<< ':'"),
	quoted("BASH_ENV", "BASH_ENV=<(printf '%s\\n' ", ") bash -c :"), quoted("rcfile", "bash --rcfile <(printf '%s\\n' ", ") -i <<< exit"), quoted("bash -x PS4", "PS4=$(printf '$(%s)' ", ") bash -xc :"), quoted("EDITOR", "fcf() { EDITOR=", " FCEDIT=true; eval \"$EDITOR\"; }; fcf"), quoted("MAKEFLAGS", "MAKEFLAGS=\"--eval=x:;@\\$(V)\" V=", " make -s x"),
	quoted("make variable", "V=", " make -s --eval='x:;@eval \"$$V\"' x"), quoted("make recipe from input", "V=", " make -s -f - x <<< $'x:\\n\\t@eval \"$$V\"'"), quoted("make recipe by process substitution", "V=", " make -sf <(printf 'x:\\n\\t-@eval \"$$V\"\\n') x"), quoted("make SHELL", "V=", " make -s SHELL=/bin/bash --eval='x:;+@bash -c \"$$V\"' x"),
	quoted("awk environment", "V=", " awk 'BEGIN{system(ENVIRON[\"V\"])}'"), quoted("perl environment", "V=", " perl -e 'exec $ENV{V}'"), quoted("sed e of the pattern space", "tr '\\n' ';' <<< ", " | sed e"), quoted("awk pipe", "tr '\\n' ';' <<< ", " | awk '{print | \"sh\"}'"), quoted("awk system of the input", "tr '\\n' ';' <<< ", " | awk '{system($0)}'"),

	{name: "here-document", make: func(g *generator, s string) string {
		n := g.name()
		return "bash <<'END" + n + "'\n" + s + "\nEND" + n + "\n"
	}},
	{name: "parameter @P", make: func(g *generator, s string) string { return "pp=" + g.quote("$("+s+"\n)") + "; : \"${pp@P}\"" }},
	{name: "index evaluated", make: func(g *generator, s string) string { return "xi=" + g.quote("a[$("+s+"\n)0]") + "; : $((xi))" }},
	{name: "index in declare", make: func(_ *generator, s string) string { return "declare " + single("a[$("+s+"\n)0]=1") }},
	{name: "index in ${x:}", make: func(_ *generator, s string) string { return "x=y; echo ${x:" + single("a[$("+s+"\n)0]") + "}" }},
	{name: "index in ${a[]}", make: func(_ *generator, s string) string { return "a=(1); echo ${a[" + single("b[$("+s+"\n)0]") + "]}" }},
	{name: "index assigned", make: func(_ *generator, s string) string { return "a[" + single("b[$("+s+"\n)0]") + "]=1" }},
	{name: "index in test -v", make: func(_ *generator, s string) string { return "test -v " + single("a[$("+s+"\n)0]") }},
	{name: "index in printf -v", make: func(_ *generator, s string) string { return "printf -v " + single("a[$("+s+"\n)0]") + " x" }},
	{name: "index in read", make: func(_ *generator, s string) string { return "read " + single("a[$("+s+"\n)0]") + " <<< x" }},
	{name: "index in unset", make: func(_ *generator, s string) string { return "a=(1); unset " + single("a[$("+s+"\n)0]") }},
	{name: "index in let", make: func(_ *generator, s string) string { return "let " + single("a[$("+s+"\n)0]") }},
	{name: "index in -eq", make: func(_ *generator, s string) string { return "[[ " + single("a[$("+s+"\n)0]") + " -eq 0 ]]" }},
	{name: "integer variable", make: func(_ *generator, s string) string { return "declare -i iv; iv=" + single("a[$("+s+"\n)0]") }},
	{name: "alias", make: func(_ *generator, s string) string {
		return "shopt -s expand_aliases\nalias al=" + single("eval "+single(s)) + "\nal"
	}},
	{name: "BASH_ALIASES", make: func(_ *generator, s string) string {
		return "shopt -s expand_aliases\nBASH_ALIASES[al]=" + single("eval "+single(s)) + "\nal"
	}},
	{name: "base64", make: func(g *generator, s string) string {
		return "echo " + base64.StdEncoding.EncodeToString([]byte(s)) + " | base64 -d | " + pick(g, []string{"sh", "bash", "bash -s", "env sh", "nice sh", "(bash)", "{ bash; }", "command sh", "xargs -0 bash -c", "bash /dev/stdin", "tee >(bash) >/dev/null"})
	}},
	{name: "base64 in eval", make: func(_ *generator, s string) string {
		return "eval \"$(base64 -d <<< " + base64.StdEncoding.EncodeToString([]byte(s)) + ")\""
	}},
	{name: "hexadecimal", make: func(g *generator, s string) string {
		return "xxd -r -p <<< " + hex.EncodeToString([]byte(s)) + " | " + pick(g, []string{"sh", "bash", "source /dev/stdin", "while IFS= read -r l; do eval \"$l\"; done"})
	}},
	{name: "octal by printf", make: func(_ *generator, s string) string { return "printf '" + octal(s) + "' | bash" }},
	{name: "octal in a variable", make: func(_ *generator, s string) string { return "ov=" + ansi(s, `\%03o`) + "; eval \"$ov\"" }},
	{name: "echo -e", make: func(_ *generator, s string) string { return "echo -e " + single(octalEcho(s)) + " | bash" }},
	{name: "hexadecimal to eval", make: func(_ *generator, s string) string { return "eval " + ansi(s, `\x%02x`) }},
	{name: "rev", alone: true, make: func(_ *generator, s string) string {
		if strings.Contains(s, "\n") {
			return "bash -c " + single(s)
		}
		return "rev <<< " + single(reversed(s)) + " | bash"
	}},
	{name: "rot13", make: func(_ *generator, s string) string {
		return "tr A-Za-z N-ZA-Mn-za-m <<< " + single(rot13(s)) + " | bash"
	}},
	{name: "awk -f", make: func(_ *generator, s string) string {
		return "awk -f <(echo " + single("BEGIN{system("+plainC(s)+")}") + ")"
	}},
	{name: "sed e from a process substitution", make: func(_ *generator, s string) string {
		return "sed -n -f <(printf '%s\\n' " + single("1e bash -c "+oneLineQuote(s)) + ") <<< x"
	}},
	{name: "sed e in a block", make: func(g *generator, s string) string {
		return "sed -n " + single(pick(g, []string{"1{e ", "/x/{p\ne ", "$!d;/x/{\n1{e "})+"bash -c "+oneLineQuote(s)+"\n}") + "  <<< x || sed -n " + single("1{1{e bash -c "+oneLineQuote(s)+"\n}}") + " <<< x"
	}},
	{name: "sed e", make: func(g *generator, s string) string {
		return "sed -n " + single(pick(g, []string{"1e ", "$ e ", "/x/ e ", "\\,x,e ", "1,3!p;e ", "s/a/b/;e ", "0~1e ", ":a e "})+"bash -c "+oneLineQuote(s)) + " <<< x"
	}},
	{name: "sed s///e", make: func(g *generator, s string) string {
		return "sed " + single("s,.*,"+strings.NewReplacer(`\`, `\\`, "&", `\&`, ",", `\,`, "\n", `\n`).Replace("bash -c "+oneLineQuote(s))+","+pick(g, []string{"e", "ge", "ep", "Ie"})) + " <<< x"
	}},
	{name: "make --eval", make: func(g *generator, s string) string {
		return "make -s " + pick(g, []string{"--eval=", "--eval ", "-E", "--ev="}) + single("x:;"+pick(g, []string{"", "@", "-", "+", "@-+"})+strings.ReplaceAll("bash -c "+oneLineQuote(s), "$", "$$")) + " x"
	}},
	{name: "make $(shell)", make: func(_ *generator, s string) string {
		return "make -s --eval=" + single("y:=$(shell "+strings.ReplaceAll("bash -c "+oneLineQuote(s), "$", "$$")+")") + " --eval='x:;@:' x"
	}},
	{name: "ed", make: func(g *generator, s string) string {
		return "printf '%s\\n' " + single("!bash -c "+oneLineQuote(s)) + " q | " + pick(g, []string{"ed -s", "ed", "ed -s /dev/null"})
	}},
	{name: "ed by here-string", make: func(_ *generator, s string) string { return "ed -s <<< " + single("!bash -c "+oneLineQuote(s)) }},
	{name: "vim", make: func(_ *generator, s string) string {
		return "vim -Nu NONE -es " + single("+!bash -c "+strings.NewReplacer("!", `\!`, "%", `\%`, "#", `\#`).Replace(oneLineQuote(s))) + " +q"
	}},
	{name: "gdb", make: func(_ *generator, s string) string {
		return "gdb -nx -batch -ex " + single("shell bash -c "+oneLineQuote(s))
	}},
	{name: "sqlite3", make: func(_ *generator, s string) string {
		return "sqlite3 :memory: " + single(".shell \"bash -c "+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(oneLineQuote(s))+`"`)
	}},
	escaped("awk system", "awk ", "BEGIN{system(%)}", plainC), escaped("awk getline", "awk ", "BEGIN{% | getline}", plainC), escaped("awk print", "awk ", "BEGIN{print \"\" | %}", plainC), escaped("perl system", "perl -e ", "system(%)", c), escaped("perl backticks", "perl -e ", "my $x = %; print `$x`", c),
	escaped("perl open", "perl -e ", "open(F, \"-|\", \"bash\", \"-c\", %); print <F>", c), escaped("python system", "/usr/bin/python3 -c ", "import os; os.system(%)", plainC), escaped("python popen", "/usr/bin/python3 -c ", "__import__(\"os\").popen(%).read()", plainC), escaped("mawk system", "mawk ", "BEGIN{system(%)}", plainC),
	oneLine("tar checkpoint", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='", "' ."), oneLine("tar -I", "tar cf /dev/null -I '", "' ."), oneLine("split --filter", "split --filter='", "' <<< x"), oneLine("xargs words of a shell", "echo '", "' | xargs -d '\\n' bash -c"), oneLine("printf octal eval", "eval '", "'"), oneLine("env -S of a shell", "env -S 'bash -c \"", "\"'"),
	oneLine("sort --compress-program", "seq 99999 | sort -S 1K --compress-program='", "' | head -0"), oneLine("parallel words of make", "make -s x --eval='x:;@", "'"), oneLine("awk -f from input", "awk -f /dev/stdin <<< 'BEGIN{system(\"", "\")}'"), oneLine("MAKEFLAGS with blanks", "MAKEFLAGS='--eval=x:;@$(V)' make -s x V='", "'"),
}

func octalEcho(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\0%03o`, text[i])
	}
	return b.String()
}

func rot13(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, text)
}

// oneLineQuote returns the quoted script, without a line end in it.
func oneLineQuote(script string) string {
	if !strings.Contains(script, "\n") {
		return single(script)
	}
	return single("eval \"$(base64 -d <<< " + base64.StdEncoding.EncodeToString([]byte(script)) + ")\"")
}
