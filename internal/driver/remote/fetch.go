package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httputil"

	"github.com/hashicorp/yamux"

	"gascity/runtime"
)

// fetch answers a call whose result is an archive. It writes one line that the call has begun, the archive in HTTP chunks, and
// one line with the final error.
func (s *server) fetch(ctx context.Context, stream *yamux.Stream, r request) {
	reply(stream, empty{}, nil)
	out := bufio.NewWriterSize(stream, chunkSize)
	chunks := httputil.NewChunkedWriter(out)
	archive := bufio.NewWriterSize(chunks, chunkSize)
	var src string
	err := json.Unmarshal(r.Body, &src)
	if err == nil {
		err = runtime.CopyFrom(ctx, s.provider, r.Name, src, archive)
	}
	err = errors.Join(err, archive.Flush(), chunks.Close())
	reply(out, nil, err)
	_ = out.Flush() // an error means that the caller has disconnected
}

// CopyFrom implements runtime.CopyFromProvider.
func (p *Provider) CopyFrom(ctx context.Context, name, src string, w io.Writer) error {
	fail := func(err error) error { return &runtime.Error{Op: "copy from", Session: name, Err: err} }
	body, err := encodeBody(src)
	if err != nil {
		return fail(err)
	}
	stream, err := p.link.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	in := bufio.NewReaderSize(stream, chunkSize)
	var a answer
	err = writeLine(stream, request{Op: opFetch, Name: name, Body: body})
	if err == nil {
		err = readLine(in, &a)
	}
	if err == nil && a.Err == nil {
		to := &sink{Writer: w}
		_, err = io.Copy(to, httputil.NewChunkedReader(in))
		if to.err != nil {
			return fail(to.err) // an error of the local writer
		}
		if err == nil {
			err = readLine(in, &a)
		}
	}
	if err != nil {
		return fail(p.link.lostError(ctx, err))
	}
	return a.Err.unpack()
}
