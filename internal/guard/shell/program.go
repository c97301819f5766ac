package shell

import (
	"strings"
	"sync"
)

// carriers contains the programs that run another one, such as sudo, by name.
var carriers = sync.OnceValue(func() map[string]carrier {
	return byName(map[string]carrier{
		// as another user or with another environment
		"sudo": {
			flags: "AbBEeHnNPSsik", values: "ughpCrtTUDRac", assigns: true, optional: true, inert: []string{"-l", "-v", "-K", "-ll"},
			longs: []string{"--user", "--group", "--chdir", "--host", "--prompt", "--role", "--type", "--chroot", "--close-from", "--other-user", "--command-timeout", "--auth-type", "--login-class"},
		},
		"doas":    {flags: "nsL", values: "uCa"},
		"su":      {flags: "lmpfP", values: "sgGwT", text: "c", texts: []string{"--command", "--session-command"}, longs: []string{"--shell", "--group", "--supp-group"}, skip: -1, optional: true},
		"runuser": {flags: "lmpfP", values: "ugGsw", text: "c", texts: []string{"--command", "--session-command"}, longs: []string{"--user", "--group", "--shell"}},
		"pkexec":  {longs: []string{"--user"}},
		"sg":      {text: "c", skip: 1},
		"gosu su-exec setuidgid s6-setuidgid envuidgid s6-envuidgid envdir s6-envdir setlock": {values: "ubeolmdcnP", skip: 1},
		"pgrphack with-contenv": {values: "ubeolmdcnP"},
		"chpst":                 {flags: "vPVr012", values: "ubeolmdcnf/C"},
		"setarch x86_64 i386 i686 aarch64 uname26": {flags: "BFILRSTXZ3v", values: "p"},
		"unshare": {flags: "rmunpUiCTfk", values: "wRSG", longs: []string{"--root", "--wd", "--setuid", "--setgid", "--map-user", "--map-group", "--propagation"}},
		"setpriv capsh bwrap proot firejail nsenter": {values: "tSGwrR", text: "c", longs: []string{"--target", "--reuid", "--regid", "--groups"}},
		"env genv": {flags: "iv0", values: "uCPa", longs: []string{"--unset", "--chdir", "--argv0"}, text: "S", texts: []string{"--split-string"}, assigns: true, splits: true},
		"chroot":   {longs: []string{"--userspec", "--groups"}, skip: 1},
		"exec":     {flags: "cl", values: "a"},
		"command":  {flags: "p", inert: []string{"-v", "-V", "-pv", "-pV"}},
		"builtin noglob nocorrect busybox toybox dbus-run-session eatmydata fakeroot proxychains proxychains4 torsocks arch": {},
		"emulate": {flags: "LR", text: "c", skip: 1},
		"repeat":  {skip: 1},
		// with limits, or while they measure it
		"nohup setsid unbuffer chronic catchsegv rlwrap dumb-init tini catatonit linux32 linux64": {flags: "cfwsgp"},
		"time gtime":       {flags: "pvaqlhV", values: "fo", longs: []string{"--format", "--output"}},
		"nice":             {values: "n", longs: []string{"--adjustment"}},
		"ionice":           {flags: "t", values: "cnpPu", longs: []string{"--class", "--classdata"}},
		"chrt":             {flags: "abdfiormRv", values: "TPD", skip: 1},
		"taskset faketime": {flags: "acfm", values: "p", longs: []string{"--exclude-monotonic"}, skip: 1},
		"mispipe concurrently npm-run-all run-p run-s": {flags: "kr", values: "ncps", longs: []string{"--names", "--prefix", "--prefix-colors", "--success", "--max-processes"}, each: true},
		"just": {behind: []string{"-c", "--command"}, joined: true},
		"numactl prlimit softlimit cgexec cpulimit": {values: "gNmcpl"},
		"timeout gtimeout":                          {flags: "v", values: "sk", longs: []string{"--signal", "--kill-after"}, skip: 1},
		"stdbuf gstdbuf":                            {values: "ioe", longs: []string{"--input", "--output", "--error"}},
		"strace":                                    {flags: "cCdfFhiknqrtTvVwxyYzZ", values: "eopsuEPabIOSX"},
		"ltrace":                                    {flags: "cCfhiLrStTV", values: "eopsuAaDFlnwx"},
		"perf":                                      {flags: "avrgd", values: "eoFCp", skip: 1},
		"valgrind rr":                               {},
		"flock":                                     {flags: "sxeunoFv", values: "wE", longs: []string{"--timeout", "--wait", "--conflict-exit-code"}, text: "c", texts: []string{"--command"}, skip: 1},
		"watch":                                     {flags: "bcdegptwxrfC", values: "nq", longs: []string{"--interval", "--equexit"}, joined: true},
		"script":                                    {flags: "aefqr", values: "IOBTmot", text: "c", texts: []string{"--command"}, skip: 1},
		"systemd-run":                               {flags: "dGqrStP", values: "upMHE", longs: []string{"--unit", "--property", "--uid", "--gid", "--machine", "--host", "--setenv", "--description", "--slice", "--working-directory", "--on-active"}},
		"caffeinate":                                {flags: "dimsu", values: "tw"},
		"entr watchexec hyperfine nodemon":          {flags: "acdnprsz", values: "weimr", joined: true},
		// in a container, on another machine or in another terminal
		"ssh autossh":    {flags: "46AaCfGgKkMNnqsTtVvXxYy", values: "BbcDEeFIiJLlmOopQRSWw", skip: 1, joined: true, optional: true},
		"rsh mosh remsh": {values: "lp", skip: 1, joined: true},
		"pssh parallel-ssh pdsh clush dsh orgalorg": {flags: "vPIizab", values: "HhlptOoexwgcmfX", longs: []string{"--host", "--hosts", "--user", "--timeout"}, joined: true},
		"ansible":                          {flags: "bkKvoCDy", values: "milutcfeBMPT", longs: []string{"--module-name", "--inventory", "--user", "--become-user", "--forks", "--extra-vars"}, text: "a", texts: []string{"--args"}, skip: -1},
		"salt salt-ssh salt-call":          {behind: []string{"cmd.run", "cmd.shell", "cmd.run_all", "cmd.run_stdout", "cmd.exec_code", "cmd.script"}, joined: true},
		"gcloud":                           {texts: []string{"--command"}, skip: -1},
		"fly flyctl":                       {text: "C", texts: []string{"--command"}, skip: -1},
		"heroku railway distrobox toolbox": {behind: []string{"run", "run:detached", "enter"}, joined: true},
		"machinectl limactl":               {behind: []string{"shell"}, skip: 1},
		"lxc incus multipass crictl flatpak-spawn wsl": {after: true},
		"sshpass":    {flags: "ev", values: "pfdP"},
		"kubectl oc": {after: true, verbs: []string{"exec", "run", "debug"}},
		"aws-vault doppler op mise chamber dotenv": {after: true},
		// with added arguments, or from another place
		"xargs gxargs": {
			flags: "0prtxo", values: "InPLldEsaJRS", more: true,
			longs: []string{"--max-args", "--max-procs", "--arg-file", "--delimiter", "--max-lines", "--max-chars", "--eof", "--process-slot-var"},
		},
		"parallel":               {flags: "0kmXqtvu", values: "jaSNnILdC", longs: []string{"--jobs", "--colsep", "--delay", "--arg-file", "--sshlogin", "--joblog", "--results", "--timeout", "--tag"}, more: true},
		"npx bunx pnpx uvx pipx": {flags: "yq", values: "p", text: "c", texts: []string{"--call"}, longs: []string{"--package", "--from", "--with", "--python"}},
		"vagrant nix-shell":      {text: "c", texts: []string{"--command", "--run"}, skip: -1},
		"poetry pipenv pdm hatch rye uv bundle rbenv pyenv asdf conda mamba": {skip: 1, values: "np", longs: []string{"--name", "--prefix", "--with", "--python", "--project", "--directory", "--group", "--extra"}},
		"direnv": {skip: 2},
	})
})

// byName returns a map in which each of the names in a key of rows, separated by spaces, has the value of that key. It panics if a
// name is in two rows, because the order of a map is random.
func byName[T any](rows map[string]T) map[string]T {
	all := map[string]T{}
	for names, row := range rows {
		for name := range strings.FieldsSeq(names) {
			if _, known := all[name]; known {
				panic("two rows of a table of programs have the name " + name)
			}
			all[name] = row
		}
	}
	return all
}

// carrierOf returns how a program such as sudo runs another one. ok is false if it is not known to run one.
func carrierOf(name string) (k carrier, ok bool) {
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so" {
		return carrier{longs: []string{"--library-path", "--preload", "--argv0", "--audit"}}, true
	}
	k, ok = carriers()[name]
	return k, ok
}
