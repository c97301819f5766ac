package client

// Remains is what a city has left outside of its own files.
type Remains struct {
	City    string   `json:"city"`    // its folder
	Folders []Folder `json:"folders"` // what gc has made on this machine
	// History is the size of the database, in bytes: receipts, events and usage.
	History int64 `json:"history_bytes"`
	// Places are the selections of those elsewhere at which sessions have been.
	Places    []string  `json:"places"`
	Processes []Process `json:"processes"` // that live and belong to the city
	// Foreign is what is in the way and gc has not made. Nothing is removed while there is any.
	Foreign []Obstacle `json:"foreign,omitempty"`
	// Kept is what stands among gc's files and gc has not made. It stays.
	Kept []string `json:"kept,omitempty"`
}

// Folder is a file or folder that gc has made, with all that is in it.
type Folder struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Obstacle is something that keeps a city from being uninstalled.
type Obstacle struct {
	What string `json:"what"` // a path, a session, a process, a place
	Why  string `json:"why"`
}

// UninstallRequest says how a city is removed.
type UninstallRequest struct {
	// LeaveUnreachable leaves behind what is at places that cannot be reached. Else they hold
	// up everything.
	LeaveUnreachable bool `json:"leave_unreachable,omitempty"`
}

// Uninstalled says what was removed of the remains of a city, and what was not.
type Uninstalled struct {
	Remains Remains  `json:"remains"` // before
	Ended   int      `json:"ended"`   // processes, those of its sessions not counted
	Stopped []string `json:"stopped"` // sessions
	Removed []string `json:"removed"` // files and folders
	// Left is what could not be ended or removed.
	Left  []Obstacle `json:"left"`
	Clean bool       `json:"clean"` // a last look found nothing
}

// Empty reports whether there is nothing to remove.
func (r Remains) Empty() bool { return len(r.Folders)+len(r.Processes)+len(r.Foreign) == 0 }
