package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/yamux"

	"gascity/runtime"
)

// Protocol is the version of the wire format. Both ends must have the same version; usually the local end installs the program
// of the remote end.
const Protocol = 1

// lineLimit bounds one request or answer in bytes, such as a whole scrollback or a prompt.
const lineLimit = 64 << 20

// request is the first line of each stream. The operation decides what follows.
type request struct {
	Op   string          `json:"op"`
	Name string          `json:"name,omitempty"` // name of the session
	Body json.RawMessage `json:"body,omitempty"`
}

// answer is the line that ends a call.
type answer struct {
	Body json.RawMessage `json:"body,omitempty"`
	Err  *failure        `json:"err,omitempty"`
}

// The operations that are not calls of the contract.
const (
	opWatch    = "watch"    // answers are events, until one end closes
	opUpload   = "upload"   // after the request comes a tar archive, then the same request again as its end
	opFetch    = "fetch"    // after the answer comes a tar archive, then another answer
	opTerminal = "terminal" // after the answer come messages in both directions
	opWorker   = "worker"   // opened by the remote end: a connection of an agent to the worker API
)

// helloReply is the first answer on a connection.
type helloReply struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Worker   string `json:"worker,omitempty"`  // path of the remote socket of the worker API
	Program  string `json:"program,omitempty"` // path of gc on the remote machine
}

// hello is the first request on a connection.
type hello struct {
	Protocol int  `json:"protocol"`
	Worker   bool `json:"worker"` // the local end accepts connections to the worker API
}

// settings returns the options of the multiplexer. A peer that answers nothing for two keep-alive intervals is considered lost.
func settings() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = 15 * time.Second
	c.ConnectionWriteTimeout = 15 * time.Second
	c.StreamOpenTimeout = 0         // calls have deadlines of their own
	c.StreamCloseTimeout = 0        // a copy may take long
	c.AcceptBacklog = 1024          // number of calls that may wait to be accepted
	c.MaxStreamWindowSize = 1 << 18 // a larger window would delay the keep-alive of a slow connection
	c.LogOutput = io.Discard
	return c
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	line, err := encodeBody(v)
	if err != nil {
		return fmt.Errorf("cannot encode %T: %w", v, err)
	}
	return writeChunks(w, append(line, '\n'))
}

// chunkSize is the number of bytes per write. Other streams can write between two chunks.
const chunkSize = 32 << 10

// writeChunks writes data in chunks of chunkSize.
func writeChunks(w io.Writer, data []byte) error {
	for some := range slices.Chunk(data, chunkSize) {
		if _, err := w.Write(some); err != nil {
			return err
		}
	}
	return nil
}

// encodeBody encodes v as JSON. It returns an error for text that is not valid UTF-8, because JSON would change it.
func encodeBody(v any) (json.RawMessage, error) {
	if text, ok := findInvalidUTF8(reflect.ValueOf(v)); ok {
		return nil, fmt.Errorf("%q is not valid UTF-8 and cannot be sent", text)
	}
	return json.Marshal(v)
}

// findInvalidUTF8 returns the first string in v that is not valid UTF-8.
func findInvalidUTF8(v reflect.Value) (text string, found bool) {
	var parts []reflect.Value
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Struct:
		for i := 0; v.Type() != reflect.TypeFor[time.Time]() && i < v.NumField(); i++ {
			parts = append(parts, v.Field(i))
		}
	case reflect.Slice:
		for i := 0; v.Type().Elem().Kind() != reflect.Uint8 && i < v.Len(); i++ {
			parts = append(parts, v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			parts = append(parts, key, value)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			parts = append(parts, v.Elem())
		}
	default:
	}
	for _, part := range parts {
		if text, found := findInvalidUTF8(part); found {
			return text, true
		}
	}
	return "", false
}

// decode decodes the body of an answer. An empty body gives the zero value.
func decode[T any](body json.RawMessage) (T, error) {
	var out T
	if len(body) == 0 {
		return out, nil
	}
	err := json.Unmarshal(body, &out)
	return out, err
}

// abort closes a stream in both directions: further local reads fail, and the peer reads the end of the stream.
func abort(stream *yamux.Stream) {
	_ = stream.SetReadDeadline(time.Unix(1, 0)) // never fails
	stream.Close()                              //nolint:errcheck // an error means that the peer is gone
}

// readLine reads one line and decodes its JSON into v.
func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			if err := json.Unmarshal(line, v); err != nil {
				return fmt.Errorf("the other end did not send a line of the protocol: %w", err)
			}
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(line) > lineLimit:
			return fmt.Errorf("a line has more than %d MiB", lineLimit>>20)
		}
	}
}

// Encodings of types of the contract whose fields JSON omits or changes.
type (
	observation struct {
		runtime.Observation

		Token  string `json:"token,omitempty"`
		Handle string `json:"handle,omitempty"`
	}
	reading struct {
		runtime.Reading

		Token string `json:"token,omitempty"`
	}
	// content is a prompt as bytes, because its text may be invalid UTF-8.
	content []block
	block   struct {
		Type string `json:"type"`
		Text []byte `json:"text,omitempty"`
		Path string `json:"path,omitempty"`
	}
	delivery struct {
		runtime.Delivery

		Blocks content `json:"blocks"`
	}
)

// packContent converts the content of a prompt to its form on the wire, in which the text is bytes.
func packContent(blocks []runtime.ContentBlock) content {
	c := make(content, 0, len(blocks))
	for _, b := range blocks {
		c = append(c, block{b.Type, []byte(b.Text), b.Path})
	}
	return c
}

// unpack converts the content of a prompt from its form on the wire.
func (c content) unpack() []runtime.ContentBlock {
	blocks := make([]runtime.ContentBlock, 0, len(c))
	for _, b := range c {
		blocks = append(blocks, runtime.ContentBlock{Type: b.Type, Text: string(b.Text), Path: b.Path})
	}
	return blocks
}

// packDelivery converts a delivery to its form on the wire.
func packDelivery(d runtime.Delivery) delivery {
	packed := delivery{d, packContent(d.Content)}
	packed.Content = nil
	return packed
}

func (d delivery) unpack() runtime.Delivery {
	d.Content = d.Blocks.unpack()
	return d.Delivery
}

func packObservation(o runtime.Observation) observation {
	return observation{o, o.InstanceToken, o.Handle}
}

func (o observation) unpack() runtime.Observation {
	o.InstanceToken, o.Observation.Handle = o.Token, o.Handle
	return o.Observation
}

// hints are the arguments of the operation set-hints.
type hints struct {
	runtime.Hints
	Instance string `json:"instance,omitempty"`
}

func packReading(r runtime.Reading) reading { return reading{r, r.Instance} }

func (r reading) unpack() runtime.Reading {
	r.Instance = r.Token
	return r.Reading
}
