package agentcli

// The states of an [InstalledCLI].
const (
	CLIMissing  = "not installed"
	CLIFound    = "found"    // gc was tested with the installed version
	CLIUntested = "untested" // gc was not tested with the installed version
)

// InstalledCLI describes an agent CLI that gc supports, and whether it is installed on this machine. Commands print it as JSON.
type InstalledCLI struct {
	Name    string   `json:"name"`                  // the value of provider in city.toml: the name of its profile
	Command string   `json:"command"`               // its program
	File    string   `json:"file,omitempty"`        // where the program is
	Version string   `json:"version,omitempty"`     // as the program reports it; empty if it does not
	Tested  string   `json:"tested,omitempty"`      // the versions with which gc was tested; empty if none
	State   string   `json:"state"`                 // not installed, found, untested
	Mode    string   `json:"asking_mode,omitempty"` // the permission_mode in which it asks a person
	Modes   []string `json:"permission_modes"`
}
