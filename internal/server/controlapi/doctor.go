package controlapi

import (
	"context"
	"fmt"
	"io"

	"gascity/client"
)

var errNoDoctor = fmt.Errorf("%w: this controller makes no checks; run gc doctor", client.ErrUnsupported)

// doctor answers with the findings of an examination of the city and its machine.
func doctor(ctx context.Context, city City, _ *none) (*reply[client.Findings], error) {
	d, ok := city.(Diagnostics)
	if !ok {
		return nil, errNoDoctor
	}
	return answer(d.Doctor(ctx))
}

// bundle writes a support bundle, which has no credentials.
func bundle(ctx context.Context, city City, _ string, _ struct{}, w io.Writer) error {
	d, ok := city.(Diagnostics)
	if !ok {
		return errNoDoctor
	}
	return d.Bundle(ctx, w)
}

// copyOut writes files of a session's working directory as an archive. It does not mask secrets in
// them.
func copyOut(ctx context.Context, city City, target string, in client.CopyOutRequest, w io.Writer) error {
	c, ok := city.(Copier)
	if !ok {
		return fmt.Errorf("%w: this city copies no files out of sessions; copy them with: gc copy", client.ErrUnsupported)
	}
	return c.CopyOut(ctx, target, in, w)
}
