package cleanup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ClearOutpost removes the folder of an outpost without sessions, its sockets, and the folders
// above that gc has made for outposts, if it was the last one.
func ClearOutpost(folder string) error {
	_, left := Site{Root: folder}.RemoveFiles()
	errs := make([]error, 0, len(left)+1)
	for _, l := range left {
		errs = append(errs, fmt.Errorf("%s: %s", l.What, l.Why))
	}
	errs = append(errs, os.Remove(folder))
	if above := filepath.Dir(folder); filepath.Base(above) == "outpost" && os.Remove(above) == nil {
		_ = os.Remove(filepath.Dir(above)) // only if nothing else of gc is in it
	}
	return errors.Join(errs...)
}
