package archtest

import "strings"

// Layers, lowest first. The gaps leave room for sub-layers: 11 stands on 10.
const (
	layerLeaf       = 10
	layerChild      = 11
	layerShim       = 12
	layerContract   = 20
	layerNames      = 21
	layerDouble     = 22
	layerKnowledge  = 30
	layerPure       = 40
	layerTypist     = 41
	layerLaunch     = 42
	layerLocal      = 43
	layerPlan       = 44
	layerDriver     = 50
	layerTable      = 51
	layerEngine     = 55
	layerBoard      = 56
	layerController = 60
	layerServer     = 70
	layerDesk       = 78
	layerManual     = 79
	layerNouns      = 80
	layerCommands   = 81
	layerAssembly   = 82
	layerCommand    = 90
	layerProgram    = 100
)

// room is one row of the table of packages.
type room struct {
	dir   string
	layer int
	// deep extends the row to all folders below dir.
	deep bool
	// program marks a package that is a program's main function in all but
	// name.
	program bool
}

// rooms is the whole building. A folder with Go files that is not here fails
// the known-room rule.
var rooms = []room{
	{dir: "internal/terminal/vt", layer: layerLeaf},
	{dir: "internal/proc", layer: layerLeaf},
	{dir: "internal/tmux/control", layer: layerLeaf},
	{dir: "internal/terminal/tty", layer: layerLeaf},
	{dir: "internal/terminal/inputlog", layer: layerLeaf},
	{dir: "internal/textfmt", layer: layerLeaf},
	{dir: "internal/jsontext", layer: layerLeaf},
	{dir: "internal/workqueue", layer: layerLeaf},
	{dir: "internal/fsutil/rawlog", layer: layerLeaf},
	{dir: "internal/fsutil/archive", layer: layerLeaf},
	{dir: "internal/telemetry/metric", layer: layerLeaf},
	{dir: "internal/fsutil/logfile", layer: layerLeaf},
	{dir: "internal/acp", layer: layerLeaf},
	{dir: "internal/shim/process", layer: layerChild},
	{dir: "internal/statedir", layer: layerChild},
	{dir: "internal/terminal/oscstate", layer: layerChild},
	{dir: "internal/shim", layer: layerShim},
	{dir: "internal/fakeagent/keyboard", layer: layerLeaf},
	{dir: "internal/fakeagent/ledger", layer: layerLeaf},
	{dir: "internal/fakeagent", layer: layerShim, program: true},

	{dir: "runtime", layer: layerContract},
	{dir: "worker", layer: layerContract},
	{dir: "worker/workertest", layer: layerNames},
	{dir: "client", layer: layerContract},
	{dir: "runtime/runtimetest", layer: layerNames},
	{dir: "runtime/runtimetest/elsewhere", layer: layerNames},
	{dir: "runtime/runtimetest/fake", layer: layerDouble},
	{dir: "internal/sessionname", layer: layerNames},
	{dir: "internal/server/unixhttp", layer: layerNames},

	{dir: "internal/config", layer: layerKnowledge},
	{dir: "internal/agentcli", layer: layerKnowledge},
	{dir: "internal/agentcli/hooks", layer: layerKnowledge},
	{dir: "internal/domain/event", layer: layerKnowledge},

	{dir: "internal/citydir", layer: layerNames},
	{dir: "internal/redact", layer: layerPure},
	{dir: "internal/driver/remote", layer: layerPure},
	{dir: "internal/cleanup", layer: layerPure},
	{dir: "internal/leaderelection", layer: layerPure},
	{dir: "internal/driver/script", layer: layerPure},
	{dir: "internal/driver/script/metadata", layer: layerPure},
	{dir: "internal/doctor/providerprobe", layer: layerPure},
	{dir: "internal/doctor/smoketest", layer: layerPure},
	{dir: "internal/doctor/programpath", layer: layerPure},
	{dir: "internal/overlay", layer: layerPure},
	{dir: "internal/domain/agentcontext", layer: layerPure},
	{dir: "internal/proc/envscan", layer: layerPure},
	{dir: "internal/driver/broadcast", layer: layerPure},
	{dir: "internal/tmux/server", layer: layerPure},
	{dir: "internal/acp/bridge", layer: layerPure, program: true},
	{dir: "internal/agentcli/channel", layer: layerPure, program: true},
	{dir: "internal/terminal/screen", layer: layerPure},
	{dir: "internal/terminal/textchange", layer: layerPure},
	{dir: "internal/service/promptfile", layer: layerLeaf},
	{dir: "internal/domain/plan", layer: layerPlan},
	{dir: "internal/domain/session", layer: layerPure},
	{dir: "internal/domain/prompt", layer: layerPure},
	{dir: "internal/guard/shell", layer: layerKnowledge},
	{dir: "internal/guard", layer: layerPure},
	{dir: "internal/domain/usage", layer: layerPure},
	{dir: "internal/domain/workerrun", layer: layerPure},
	{dir: "internal/terminal/inject", layer: layerTypist},
	{dir: "internal/driver/startup", layer: layerLaunch},
	{dir: "internal/driver/shimdriver", layer: layerLocal},

	{dir: "provider/pty", layer: layerDriver},
	{dir: "provider/subprocess", layer: layerDriver},
	{dir: "provider/tmux", layer: layerDriver},
	{dir: "provider/exec", layer: layerDriver},
	{dir: "provider/acp", layer: layerDriver},
	{dir: "provider/k8s", layer: layerDriver},
	{dir: "provider/ssh", layer: layerDriver},
	{dir: "provider/router", layer: layerDriver},
	{dir: "provider/all", layer: layerTable},
	{dir: "internal/store", layer: layerDriver},
	{dir: "internal/store/storetest", layer: layerTable},
	{dir: "internal/doctor/supportbundle", layer: layerEngine},
	{dir: "internal/service/prompts", layer: layerEngine},
	{dir: "internal/service/questions", layer: layerEngine},
	{dir: "internal/service/waits", layer: layerEngine},
	{dir: "internal/service/workers", layer: layerEngine},
	{dir: "internal/service/workers/compaction", layer: layerPure},
	{dir: "internal/service/workers/contextlog", layer: layerPure},
	{dir: "internal/service/workers/recovery", layer: layerDriver},
	{dir: "internal/guard/policy", layer: layerEngine},
	{dir: "internal/service/budgets", layer: layerEngine},
	{dir: "internal/service/credentials", layer: layerEngine},
	{dir: "internal/telemetry/otlp", layer: layerEngine},
	{dir: "internal/hookrunner", layer: layerDriver},

	{dir: "internal/controller/persist", layer: layerEngine},
	{dir: "internal/controller/requests", layer: layerEngine},
	{dir: "internal/controller/ops", layer: layerEngine},
	{dir: "internal/controller/explain", layer: layerEngine},
	{dir: "internal/domain/conversation", layer: layerEngine},
	{dir: "internal/controller/settings", layer: layerEngine},
	{dir: "internal/controller/snapshot", layer: layerBoard},
	{dir: "internal/controller", layer: layerController},
	{dir: "internal/server/controlapi", layer: layerServer},
	{dir: "internal/server/workerapi", layer: layerServer},
	{dir: "internal/cli/cmdenv", layer: layerDesk},
	{dir: "internal/cli/render", layer: layerDesk},
	{dir: "internal/cli/docgen", layer: layerManual},
	{dir: "internal/cli/output", layer: layerManual},
	{dir: "internal/cli/agentcmd", layer: layerNouns},
	{dir: "internal/cli/promptcmd", layer: layerNouns},
	{dir: "internal/acp/server", layer: layerNouns},
	{dir: "internal/cli", layer: layerCommands},
	{dir: "internal/app", layer: layerAssembly},
	{dir: "cmd/gc", layer: layerCommand},

	{dir: "internal/archtest", layer: layerProgram},
	{dir: "test", layer: layerProgram, deep: true},
	{dir: "bench", layer: layerProgram, deep: true},
	{dir: "examples", layer: layerProgram, deep: true},
	{dir: "contrib", layer: layerProgram, deep: true},
}

// layerOf returns the layer of the folder; ok is false for an unknown room.
func layerOf(dir string) (layer int, ok bool) {
	row, ok := rowOf(dir)
	return row.layer, ok
}

func rowOf(dir string) (row room, ok bool) {
	for _, row := range rooms {
		if row.dir == dir || row.deep && strings.HasPrefix(dir, row.dir+"/") {
			return row, true
		}
	}
	return room{}, false
}

// isProgram reports whether the folder holds test programs, benchmarks or
// examples: they are built from the product but are no part of it.
func isProgram(dir string) bool {
	row, ok := rowOf(dir)
	return ok && (row.layer == layerProgram || row.program)
}

func checkKnownRooms(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Rooms() {
		if _, ok := layerOf(dir); !ok {
			found = append(found, Finding{dir, "package is not in the table of packages"})
		}
	}
	return found
}

func checkLayerOrder(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		target, ours := t.room(importPath)
		if !ours || isProgram(f.Room) {
			return ""
		}
		from, known := layerOf(f.Room)
		to, targetKnown := layerOf(target)
		if known && targetKnown && to >= from {
			return "imports " + target + ", which is not in a lower layer"
		}
		return ""
	})
}

// eachImport asks judge about each import of each file that is not a test and
// reports the answers that are not empty.
func (t *Tree) eachImport(judge func(f *File, importPath string) string) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		for i, importPath := range file.imports() {
			if what := judge(file, importPath); what != "" {
				found = append(found, t.at(file.Syntax.Imports[i], "%s", what))
			}
		}
	}
	return found
}
