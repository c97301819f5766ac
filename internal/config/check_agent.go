package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// agent checks one [[agents]] section.
func (c *checker) agent(a *Agent) {
	c.name(a.Keys, a.Name)
	if a.Dir != "" && !cleanDir(a.Dir) {
		c.fail(a.Origin("dir"), "dir is the name of a rig or a folder inside the city; write any other folder as work_dir", "%q is not a valid dir of an agent", a.Dir)
	}
	c.agentCLI(a.Keys, a.Provider)
	c.checkProvider(a)
	c.variables(a.Keys, a.Env)
	c.checkCommand(a)
	c.pool(a)
	c.pending(a)
	c.context(&a.Context)
	if _, ok := c.city.Upstreams[a.Upstream]; a.Upstream != "" && !ok {
		c.fail(a.Origin("upstream"), Suggest(a.Upstream, maps.Keys(c.city.Upstreams)), "there is no [upstreams.%s]", a.Upstream)
	}
	c.agentFiles(a)
}

// checkProvider checks which runtime provider the agent gets. A mistake in the agent's own key
// session is added to [City.Faults], because it keeps only this agent from running.
func (c *checker) checkProvider(a *Agent) {
	_, _, err := c.city.RuntimeFor(a, "", c.catalog)
	errs, ok := AsErrors(err)
	switch {
	case !ok:
	case a.Has("session"):
		c.city.Faults = append(c.city.Faults, errs...)
	case c.catalog.CheckRuntime(c.city.Session.Provider) == nil && !c.routeFails:
		c.routeFails = true // for all agents without their own session key
		c.fail(c.city.Session.Origin("provider"), "", "%s", errs[0].Message)
	}
}

// checkCommand checks that the agent has a command, and that its first prompt can get to that
// command.
func (c *checker) checkCommand(a *Agent) {
	w := &c.city.Workspace
	bare := a.Provider == "" && w.Provider == ""
	if bare && a.StartCommand == "" && w.StartCommand == "" {
		c.fail(a.Header(), "set provider or start_command, here or in [workspace]", "agent %q has no command to run", a.QualifiedName())
	}
	if bare && a.PromptMode == PromptFlag && a.PromptFlag == "" {
		c.fail(a.Origin("prompt_mode"), `set prompt_flag = "--prompt" or the like`, "prompt_mode is flag but there is no prompt_flag")
	}
	if a.Lifecycle == OneShot && (a.PromptMode == PromptNone || bare && a.PromptMode == "") && (a.PromptTemplate != "" || a.Nudge != "") {
		c.fail(a.Origin("lifecycle"), "use prompt_mode arg or flag", "a one_shot command accepts no typed prompt, so its prompt would be lost")
	}
}

// agentFiles checks that the files and directories in the agent's keys exist.
func (c *checker) agentFiles(a *Agent) {
	c.file(a.Origin("prompt_template"), "prompt_template", a.PromptTemplate)
	c.file(a.Origin("session_setup_script"), "session_setup_script", a.SessionSetupScript)
	c.folder(a.Origin("overlay_dir"), "overlay_dir", a.OverlayDir)
	c.packOverlays(a.Keys, a.PackOverlayDirs)
	for _, f := range a.CopyFiles {
		if f.Src == "" {
			c.fail(f.Header(), `write {src = "...", rel_dst = "..."}`, "an item of copy_files has no src")
		} else {
			c.exists(f.Origin("src"), "src", f.Src)
		}
		if f.RelDst != "" && !filepath.IsLocal(f.RelDst) {
			c.fail(f.Origin("rel_dst"), "write a path relative to the working folder, without ..", "rel_dst %q is outside the working folder", f.RelDst)
		}
	}
}

// packOverlays checks that each path in the key pack_overlay_dirs is an existing directory.
func (c *checker) packOverlays(keys Keys, dirs []string) {
	const key = "pack_overlay_dirs"
	for i, dir := range dirs {
		if dir == "" {
			c.fail(keys.ItemOrigin(key, i), "remove it, or write the path", "%s contains an empty path", key)
		}
		c.folder(keys.ItemOrigin(key, i), key, dir)
	}
}

// file checks that a path is empty or an existing file.
func (c *checker) file(at Origin, key, path string) {
	if isDir, ok := c.exists(at, key, path); ok && isDir {
		c.fail(at, "", "%s is a folder, not a file: %s", key, c.city.Abs(path))
	}
}

// folder checks that a path is empty or an existing directory.
func (c *checker) folder(at Origin, key, path string) {
	if isDir, ok := c.exists(at, key, path); ok && !isDir {
		c.fail(at, "", "%s is a file, not a folder: %s", key, c.city.Abs(path))
	}
}

// exists checks that a path exists. isDir says whether it is a directory. ok is false if that is
// not known: the path is empty, the checker does not check files, or the path does not exist, which
// exists adds as a mistake.
func (c *checker) exists(at Origin, key, path string) (isDir, ok bool) {
	if path == "" || c.stat == nil {
		return false, false
	}
	info, err := c.stat(c.city.Abs(path))
	if err != nil {
		c.fail(at, "paths are relative to the city directory", "the path of %s does not exist: %s", key, c.city.Abs(path))
		return false, false
	}
	return info.IsDir(), true
}

// dependencies checks the key depends_on of all agents: each name must be an agent, and no agent
// may wait for itself through others.
func (c *checker) dependencies() {
	edges := map[string][]string{}
	names := make([]string, 0, len(c.city.Agents))
	for i := range c.city.Agents {
		names = append(names, c.city.Agents[i].QualifiedName())
	}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		for j, dependency := range a.DependsOn {
			target, ok := c.city.Dependency(a, dependency)
			if !ok {
				c.fail(a.ItemOrigin("depends_on", j), suggest(dependency, names), "there is no agent %q to depend on", dependency)
				continue
			}
			edges[a.QualifiedName()] = append(edges[a.QualifiedName()], target)
		}
	}
	reported := map[string]bool{}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		if reported[a.QualifiedName()] || len(a.DependsOn) == 0 {
			continue
		}
		reported[a.QualifiedName()] = true
		if cycle := findCycle(edges, a.QualifiedName()); cycle != nil && slices.Min(cycle) == a.QualifiedName() {
			c.fail(a.Origin("depends_on"), "", "agents wait for each other: %s", strings.Join(cycle, " -> "))
		}
	}
}

// findCycle follows the edges of a graph from start and returns a path that leads back to start;
// nil if there is none.
func findCycle(edges map[string][]string, start string) []string {
	seen := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		for _, next := range edges[path[len(path)-1]] {
			if next == start {
				return append(slices.Clone(path), next)
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if found := walk(append(slices.Clone(path), next)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk([]string{start})
}

// Dependency returns the qualified name of the agent that an entry of the key depends_on refers to:
// an agent in the same dir as the agent with the key or, if there is none, the agent whose qualified
// name is the entry. ok is false if there is no such agent.
func (c *City) Dependency(agent *Agent, entry string) (qualified string, ok bool) {
	if agent.Dir != "" {
		if _, ok := c.Agent(agent.Dir + "/" + entry); ok {
			return agent.Dir + "/" + entry, true
		}
	}
	_, ok = c.Agent(entry)
	return entry, ok
}

// BaseOf splits the key base at its colon: it returns "builtin" and "x" for "builtin:x", and "" and
// "x" for "x".
func (p Provider) BaseOf() (kind, name string) {
	if kind, name, ok := strings.Cut(p.Base, ":"); ok {
		return kind, name
	}
	return "", p.Base
}

// CheckRuntime returns a mistake if the selection, the name of a runtime provider with or without
// an argument, is not valid; nil if it is valid. The mistake has a message and a hint, but no
// position in a file.
func (k Catalog) CheckRuntime(selection string) *Error {
	if k.Runtimes == nil {
		return nil
	}
	name, argument, hasArgument := strings.Cut(selection, ":")
	forms := make([]string, 0, len(k.Runtimes))
	for _, r := range k.Runtimes {
		forms = append(forms, r.Form())
		if r.Name == name {
			return r.checkArgument(selection, argument, hasArgument)
		}
	}
	hint := suggest(selection, forms)
	if strings.HasPrefix(hint, "did you mean") {
		hint += " Known: " + strings.Join(forms, ", ")
	}
	return &Error{Message: fmt.Sprintf("there is no runtime provider %q", selection), Hint: hint}
}

// checkArgument returns a mistake if the argument in the selection of this runtime provider is
// missing, not allowed or invalid; otherwise nil. hasArgument is false if the selection has no
// colon.
func (r Runtime) checkArgument(selection, argument string, hasArgument bool) *Error {
	switch {
	case r.Argument == "" && hasArgument, r.Argument != "" && argument == "":
		return &Error{Message: fmt.Sprintf("%q is not a runtime provider", selection), Hint: "write " + r.Form()}
	case r.Check != nil && hasArgument:
		if err := r.Check(argument); err != nil {
			return &Error{Message: fmt.Sprintf("%s: %v", selection, err), Hint: "write " + r.Form()}
		}
	}
	return nil
}
