package shell

import "strings"

// carrierOf returns how a program such as sudo runs another one. ok is false if the program is not
// in the tables.
func carrierOf(name string) (carrier, bool) {
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so" {
		return carrier{longs: []string{"--library-path", "--preload", "--argv0", "--audit"}}, true
	}
	for _, table := range []func(string) (carrier, bool){identityCarrier, limitCarrier, remoteCarrier, toolCarrier} {
		if k, ok := table(name); ok {
			return k, true
		}
	}
	return carrier{}, false
}

// identityCarrier returns how programs such as sudo and env run another program: as another user or
// with another environment.
func identityCarrier(name string) (carrier, bool) {
	switch name {
	case "sudo":
		return carrier{
			flags: "AbBEeHnNPSsik", values: "ughpCrtTUDRac", assigns: true, optional: true, inert: []string{"-l", "-v", "-K", "-ll"},
			longs: []string{"--user", "--group", "--chdir", "--host", "--prompt", "--role", "--type", "--chroot", "--close-from", "--other-user", "--command-timeout", "--auth-type", "--login-class"},
		}, true
	case "doas":
		return carrier{flags: "nsL", values: "uCa"}, true
	case "su":
		return carrier{flags: "lmpfP", values: "sgGwT", text: "c", texts: []string{"--command", "--session-command"}, longs: []string{"--shell", "--group", "--supp-group"}, skip: -1, optional: true}, true
	case "runuser":
		return carrier{flags: "lmpfP", values: "ugGsw", text: "c", texts: []string{"--command", "--session-command"}, longs: []string{"--user", "--group", "--shell"}}, true
	case "pkexec":
		return carrier{longs: []string{"--user"}}, true
	case "sg":
		return carrier{text: "c", skip: 1}, true
	case "gosu", "su-exec", "setuidgid", "s6-setuidgid", "envuidgid", "s6-envuidgid", "envdir", "s6-envdir", "setlock", "pgrphack", "with-contenv":
		return carrier{values: "ubeolmdcnP", skip: carriedWords(name)}, true
	case "chpst":
		return carrier{flags: "vPVr012", values: "ubeolmdcnf/C"}, true
	case "setarch", "x86_64", "i386", "i686", "aarch64", "uname26":
		return carrier{flags: "BFILRSTXZ3v", values: "p"}, true
	case "unshare":
		return carrier{flags: "rmunpUiCTfk", values: "wRSG", longs: []string{"--root", "--wd", "--setuid", "--setgid", "--map-user", "--map-group", "--propagation"}}, true
	case "setpriv", "capsh", "bwrap", "proot", "firejail", "nsenter":
		return carrier{values: "tSGwrR", text: "c", longs: []string{"--target", "--reuid", "--regid", "--groups"}}, true
	case "env", "genv":
		return carrier{flags: "iv0", values: "uCPa", longs: []string{"--unset", "--chdir", "--argv0"}, text: "S", texts: []string{"--split-string"}, assigns: true, splits: true}, true
	case "chroot":
		return carrier{longs: []string{"--userspec", "--groups"}, skip: 1}, true
	case "exec":
		return carrier{flags: "cl", values: "a"}, true
	case "command":
		return carrier{flags: "p", inert: []string{"-v", "-V", "-pv", "-pV"}}, true
	case "builtin", "noglob", "nocorrect", "busybox", "toybox", "dbus-run-session", "eatmydata", "fakeroot", "proxychains", "proxychains4", "torsocks", "arch":
		return carrier{}, true
	case "emulate":
		return carrier{flags: "LR", text: "c", skip: 1}, true
	case "repeat":
		return carrier{skip: 1}, true
	}
	return carrier{}, false
}

// limitCarrier returns how programs such as nice and timeout run another program: with limits, or
// while they measure it.
func limitCarrier(name string) (carrier, bool) {
	switch name {
	case "nohup", "setsid", "unbuffer", "chronic", "catchsegv", "rlwrap", "dumb-init", "tini", "catatonit", "linux32", "linux64":
		return carrier{flags: "cfwsgp"}, true
	case "time", "gtime":
		return carrier{flags: "pvaqlhV", values: "fo", longs: []string{"--format", "--output"}}, true
	case "nice":
		return carrier{values: "n", longs: []string{"--adjustment"}}, true
	case "ionice":
		return carrier{flags: "t", values: "cnpPu", longs: []string{"--class", "--classdata"}}, true
	case "chrt":
		return carrier{flags: "abdfiormRv", values: "TPD", skip: 1}, true
	case "taskset", "faketime":
		return carrier{flags: "acfm", values: "p", longs: []string{"--exclude-monotonic"}, skip: 1}, true
	case "mispipe", "concurrently", "npm-run-all", "run-p", "run-s":
		return carrier{flags: "kr", values: "ncps", longs: []string{"--names", "--prefix", "--prefix-colors", "--success", "--max-processes"}, each: true}, true
	case "just":
		return carrier{behind: []string{"-c", "--command"}, joined: true}, true
	case "numactl", "prlimit", "softlimit", "cgexec", "cpulimit":
		return carrier{values: "gNmcpl"}, true
	case "timeout", "gtimeout":
		return carrier{flags: "v", values: "sk", longs: []string{"--signal", "--kill-after"}, skip: 1}, true
	case "stdbuf", "gstdbuf":
		return carrier{values: "ioe", longs: []string{"--input", "--output", "--error"}}, true
	case "strace":
		return carrier{flags: "cCdfFhiknqrtTvVwxyYzZ", values: "eopsuEPabIOSX"}, true
	case "ltrace":
		return carrier{flags: "cCfhiLrStTV", values: "eopsuAaDFlnwx"}, true
	case "perf":
		return carrier{flags: "avrgd", values: "eoFCp", skip: 1}, true
	case "valgrind", "rr":
		return carrier{}, true
	case "flock":
		return carrier{flags: "sxeunoFv", values: "wE", longs: []string{"--timeout", "--wait", "--conflict-exit-code"}, text: "c", texts: []string{"--command"}, skip: 1}, true
	case "watch":
		return carrier{flags: "bcdegptwxrfC", values: "nq", longs: []string{"--interval", "--equexit"}, joined: true}, true
	case "script":
		return carrier{flags: "aefqr", values: "IOBTmot", text: "c", texts: []string{"--command"}, skip: 1}, true
	case "systemd-run":
		return carrier{flags: "dGqrStP", values: "upMHE", longs: []string{"--unit", "--property", "--uid", "--gid", "--machine", "--host", "--setenv", "--description", "--slice", "--working-directory", "--on-active"}}, true
	case "caffeinate":
		return carrier{flags: "dimsu", values: "tw"}, true
	case "entr", "watchexec", "hyperfine", "nodemon":
		return carrier{flags: "acdnprsz", values: "weimr", joined: true}, true
	}
	return carrier{}, false
}

// remoteCarrier returns how programs such as ssh and docker run another program: in a container, on
// another machine or in another terminal.
func remoteCarrier(name string) (carrier, bool) {
	switch name {
	case "ssh", "autossh":
		return carrier{flags: "46AaCfGgKkMNnqsTtVvXxYy", values: "BbcDEeFIiJLlmOopQRSWw", skip: 1, joined: true, optional: true}, true
	case "rsh", "mosh", "remsh":
		return carrier{values: "lp", skip: 1, joined: true}, true
	case "pssh", "parallel-ssh", "pdsh", "clush", "dsh", "orgalorg":
		return carrier{flags: "vPIizab", values: "HhlptOoexwgcmfX", longs: []string{"--host", "--hosts", "--user", "--timeout"}, joined: true}, true
	case "ansible":
		return carrier{flags: "bkKvoCDy", values: "milutcfeBMPT", longs: []string{"--module-name", "--inventory", "--user", "--become-user", "--forks", "--extra-vars"}, text: "a", texts: []string{"--args"}, skip: -1}, true
	case "salt", "salt-ssh", "salt-call":
		return carrier{behind: []string{"cmd.run", "cmd.shell", "cmd.run_all", "cmd.run_stdout", "cmd.exec_code", "cmd.script"}, joined: true}, true
	case "gcloud":
		return carrier{texts: []string{"--command"}, skip: -1}, true
	case "fly", "flyctl":
		return carrier{text: "C", texts: []string{"--command"}, skip: -1}, true
	case "heroku", "railway", "distrobox", "toolbox":
		return carrier{behind: []string{"run", "run:detached", "enter"}, joined: true}, true
	case "machinectl", "limactl":
		return carrier{behind: []string{"shell"}, skip: 1}, true
	case "lxc", "incus", "multipass", "crictl", "flatpak-spawn", "wsl":
		return carrier{after: true}, true
	case "sshpass":
		return carrier{flags: "ev", values: "pfdP"}, true
	case "kubectl", "oc":
		return carrier{after: true, verbs: []string{"exec", "run", "debug"}}, true
	case "aws-vault", "doppler", "op", "mise", "chamber", "dotenv":
		return carrier{after: true}, true
	}
	return carrier{}, false
}

// toolCarrier returns how programs such as xargs and npx run another program: with added arguments,
// or from another place.
func toolCarrier(name string) (carrier, bool) {
	switch name {
	case "xargs", "gxargs":
		return carrier{
			flags: "0prtxo", values: "InPLldEsaJRS", more: true,
			longs: []string{"--max-args", "--max-procs", "--arg-file", "--delimiter", "--max-lines", "--max-chars", "--eof", "--process-slot-var"},
		}, true
	case "parallel":
		return carrier{flags: "0kmXqtvu", values: "jaSNnILdC", longs: []string{"--jobs", "--colsep", "--delay", "--arg-file", "--sshlogin", "--joblog", "--results", "--timeout", "--tag"}, more: true}, true
	case "npx", "bunx", "pnpx", "uvx", "pipx":
		return carrier{flags: "yq", values: "p", text: "c", texts: []string{"--call"}, longs: []string{"--package", "--from", "--with", "--python"}}, true
	case "vagrant", "nix-shell":
		return carrier{text: "c", texts: []string{"--command", "--run"}, skip: -1}, true
	case "poetry", "pipenv", "pdm", "hatch", "rye", "uv", "bundle", "rbenv", "pyenv", "asdf", "conda", "mamba":
		return carrier{skip: 1, values: "np", longs: []string{"--name", "--prefix", "--with", "--python", "--project", "--directory", "--group", "--extra"}}, true
	case "direnv":
		return carrier{skip: 2}, true
	}
	return carrier{}, false
}

// carriedWords returns how many arguments of its own such a program has before the command.
func carriedWords(name string) int {
	if name == "pgrphack" || name == "with-contenv" {
		return 0
	}
	return 1
}
