package plan

import "strings"

// command returns the shell command that starts the agent: the program and its quoted arguments.
func (r *resolver) command() string {
	return strings.Join(append([]string{r.program}, r.args...), " ")
}

// commandAndArgs returns the program and its arguments: those of the profile, unless the agent has a
// command of its own. The arguments are quoted for a shell; the program is not.
func (r *resolver) commandAndArgs() (command string, args []string) {
	a := r.agent
	switch {
	case a.StartCommand != "":
		command = r.expand(a.Origin("start_command"), "start_command", a.StartCommand)
	case r.profile.Name != "":
		command, args = r.profileCommand()
	default:
		command = r.expand(r.city.Workspace.Origin("start_command"), "start_command", r.city.Workspace.StartCommand)
	}
	if a.StartCommand != "" || r.profile.Name == "" {
		args = r.expandList("args", a.Args)
	}
	args = append(args, r.expandList("args_append", a.ArgsAppend)...)
	for i, arg := range args {
		quoted, err := quote(arg)
		if err != nil {
			r.fail(a.Position("args"), "args: %v", err)
		}
		args[i] = quoted
	}
	return command, args
}

// profileCommand returns the program and the arguments of the agent's profile.
func (r *resolver) profileCommand() (string, []string) {
	a, profile := r.agent, r.profile
	if a.Has("args") {
		profile.Args = r.expandList("args", a.Args)
	}
	mode := a.PermissionMode
	if r.usesACP { // its mode is set by the protocol
		mode = ""
	}
	argv, err := profile.Argv(mode)
	if err != nil {
		r.fail(a.Position("permission_mode"), "%v", err)
	}
	if len(argv) == 0 {
		if err == nil {
			r.fail(a.Position("provider"), "provider %q has no command; set start_command here or command in [providers.%s]", profile.Name, profile.Name)
		}
		return "", nil
	}
	command := r.expand(r.city.Providers[profile.Name].Origin("command"), "command", argv[0])
	return command, argv[1:]
}
