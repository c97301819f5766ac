package client

// Remains is what gc has created for a city outside of the city's own files.
type Remains struct {
	City    string   `json:"city"`    // the city directory
	Folders []Folder `json:"folders"` // files and directories that gc has created on this machine
	// History is the size of the database, in bytes: receipts, events and usage.
	History int64 `json:"history_bytes"`
	// Places are the selections of the providers on other machines at which sessions have run.
	Places    []string  `json:"places"`
	Processes []Process `json:"processes"` // running processes of the city
	// Foreign lists files that gc has not created and that prevent the removal. Nothing is removed
	// while there are any.
	Foreign []Obstacle `json:"foreign,omitempty"`
	// Kept lists files among gc's files that gc has not created. They are not removed.
	Kept []string `json:"kept,omitempty"`
}

// Folder is a file or directory that gc has created, with its contents.
type Folder struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Obstacle is something that prevents a city from being uninstalled.
type Obstacle struct {
	What string `json:"what"` // a path, a session, a process or a provider
	Why  string `json:"why"`
}

// UninstallRequest are the options for the removal of a city.
type UninstallRequest struct {
	// LeaveUnreachable skips what is at providers that cannot be reached. Without it an unreachable
	// provider prevents the removal.
	LeaveUnreachable bool `json:"leave_unreachable,omitempty"`
	// KeepFiles stops the sessions and processes and removes nothing.
	KeepFiles bool `json:"keep_files,omitempty"`
}

// Uninstalled reports which remains of a city were removed and which were not.
type Uninstalled struct {
	Remains Remains  `json:"remains"` // before
	Ended   int      `json:"ended"`   // number of stopped processes, without those of sessions
	Stopped []string `json:"stopped"` // sessions
	Removed []string `json:"removed"` // files and folders
	// Left lists what could not be stopped or removed.
	Left  []Obstacle `json:"left"`
	Clean bool       `json:"clean"` // the final check found nothing
}

// Empty reports whether there is nothing to remove.
func (r Remains) Empty() bool { return len(r.Folders)+len(r.Processes)+len(r.Foreign) == 0 }
