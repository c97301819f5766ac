package cleanup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ClearOutpost removes the directory of an outpost that has no session, its sockets, and the parent
// directories that gc created if they are empty.
func ClearOutpost(folder string) error {
	_, left := Site{Root: folder}.RemoveFiles()
	errs := make([]error, 0, len(left)+1)
	for _, l := range left {
		errs = append(errs, fmt.Errorf("%s: %s", l.What, l.Why))
	}
	errs = append(errs, os.Remove(folder))
	if above := filepath.Dir(folder); filepath.Base(above) == "outpost" && os.Remove(above) == nil {
		_ = os.Remove(filepath.Dir(above)) // only if it is empty
	}
	return errors.Join(errs...)
}
