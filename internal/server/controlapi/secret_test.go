package controlapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	configuration "gascity/internal/config"
	"gascity/internal/redact"
)

const (
	plantedSecret = "planted-password-0123456789"
	plantedToken  = "gci_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// leak returns a value of type T in which every text contains a secret and a token. Fields with
// names of agents and sessions contain only the token.
func leak[T any]() T {
	var v T
	plant(reflect.ValueOf(&v).Elem(), false)
	return v
}

func plant(v reflect.Value, identity bool) {
	switch v.Kind() {
	case reflect.String:
		text := "it said " + plantedSecret + " and " + plantedToken + " and a line that a terminal has broken: " + plantedSecret[:9] + "\n" + plantedSecret[9:]
		if identity {
			text = plantedToken
		}
		v.SetString(text)
	case reflect.Struct:
		for field, value := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if value.CanSet() && field.Type != reflect.TypeFor[time.Time]() {
				plant(value, slices.Contains([]string{"agent", "session", "provider", "id", "instance"}, name))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), identity)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0), identity)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, false)
		plant(value, false)
		v.SetMapIndex(key, value)
	default:
	}
}

// leakyCity quotes a secret in all that it answers, or in all its errors.
type leakyCity struct{ failing bool }

func answerOf[T any](c leakyCity) (T, error) {
	if c.failing {
		var none T
		return none, fmt.Errorf("%w: it said %s and %s", client.ErrRefused, plantedSecret, plantedToken)
	}
	return leak[T](), nil
}

func (c leakyCity) Status(context.Context) (client.Status, error) { return answerOf[client.Status](c) }

func (leakyCity) StatusChanged() <-chan struct{} { return nil }

func (leakyCity) Since(context.Context, time.Time) (uint64, error) { return 0, nil }

func (c leakyCity) Plan(context.Context) (client.Plan, error) { return answerOf[client.Plan](c) }

func (c leakyCity) Session(context.Context, string) (client.Session, error) {
	return answerOf[client.Session](c)
}

func (c leakyCity) Config(context.Context) (client.Config, error) { return answerOf[client.Config](c) }

func (c leakyCity) Providers(context.Context) ([]client.Provider, error) {
	return answerOf[[]client.Provider](c)
}

func (c leakyCity) Explain(context.Context, string) (client.Explanation, error) {
	return answerOf[client.Explanation](c)
}

func (c leakyCity) Peek(context.Context, string, int) (client.Output, error) {
	return answerOf[client.Output](c)
}

func (c leakyCity) Interrupt(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Keys(context.Context, string, client.KeysRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) ClearInput(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) RetryPrompt(context.Context, string, client.RetryRequest) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) Copy(context.Context, string, client.CopyRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Kill(context.Context, string, client.LifecycleRequest) (client.StopResult, error) {
	return answerOf[client.StopResult](c)
}

func (c leakyCity) Wake(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Sleep(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Suspend(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Resume(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Reset(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Drain(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) DrainState(context.Context, string) (client.Drain, error) {
	return answerOf[client.Drain](c)
}

func (c leakyCity) DrainAck(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) RequestRestart(context.Context, string, client.LifecycleRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Nudge(context.Context, string, client.NudgeRequest) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) Queue(context.Context, string, client.Which) ([]client.Receipt, error) {
	return answerOf[[]client.Receipt](c)
}

func (c leakyCity) Receipt(context.Context, string, string) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) EditPrompt(context.Context, string, client.EditRequest) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) MovePrompt(context.Context, string, client.MoveRequest) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) PromptText(context.Context, string) (client.PromptText, error) {
	return answerOf[client.PromptText](c)
}

func (c leakyCity) CancelPrompt(context.Context, string) (client.Receipt, error) {
	return answerOf[client.Receipt](c)
}

func (c leakyCity) Pending(context.Context, string, client.Which) ([]client.Pending, error) {
	return answerOf[[]client.Pending](c)
}

func (c leakyCity) AllowAlways(context.Context, string, client.AlwaysRequest) (client.Pending, error) {
	return answerOf[client.Pending](c)
}

func (c leakyCity) Respond(context.Context, string, client.RespondRequest) (client.Pending, error) {
	return answerOf[client.Pending](c)
}

func (c leakyCity) Await(context.Context, client.WaitRequest) (client.Wait, error) {
	return answerOf[client.Wait](c)
}

func (c leakyCity) AddWait(context.Context, client.WaitRequest) (client.Wait, error) {
	return answerOf[client.Wait](c)
}

func (c leakyCity) Waits(context.Context, client.Which) ([]client.Wait, error) {
	return answerOf[[]client.Wait](c)
}

func (c leakyCity) CancelWait(context.Context, string) (client.Wait, error) {
	return answerOf[client.Wait](c)
}
func (c leakyCity) Reload(context.Context) (client.Done, error) { return answerOf[client.Done](c) }
func (c leakyCity) Restart(context.Context, client.RestartRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Apply(context.Context, client.ApplyRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) StopCity(context.Context) (client.Census, error) {
	return answerOf[client.Census](c)
}

func (c leakyCity) StopController(context.Context) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Preview(context.Context, client.PreviewRequest) (client.Plan, error) {
	return answerOf[client.Plan](c)
}

func (c leakyCity) Conversation(context.Context, string, client.ConversationQuery) (client.Conversation, error) {
	return answerOf[client.Conversation](c)
}

func (c leakyCity) FollowConversation(_ context.Context, _ string, _ client.ConversationQuery, send func(client.Conversation) error) error {
	v, err := answerOf[client.Conversation](c)
	if err != nil {
		return err
	}
	return send(v)
}

func (c leakyCity) Usage(context.Context, client.UsageRequest) (client.Usage, error) {
	return answerOf[client.Usage](c)
}

func (c leakyCity) Budgets(context.Context) ([]client.Budget, error) {
	return answerOf[[]client.Budget](c)
}

func (c leakyCity) LiftBudget(context.Context, string, client.LiftRequest) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Events(context.Context, uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the interface has four results
	past, err := answerOf[[]client.Event](c)
	next := make(chan client.Event, 1)
	next <- leak[client.Event]()
	close(next)
	return past, true, next, err
}

func (c leakyCity) Notifications(context.Context) (client.Notifications, error) {
	return answerOf[client.Notifications](c)
}

func (c leakyCity) TestNotify(context.Context, client.NotifyTestRequest) ([]client.NotifyResult, error) {
	return answerOf[[]client.NotifyResult](c)
}

func (c leakyCity) Present(context.Context) error {
	_, err := answerOf[struct{}](c)
	return err
}

func (c leakyCity) RetryNotification(context.Context, string) (client.Notification, error) {
	return answerOf[client.Notification](c)
}

func (c leakyCity) Web(context.Context) (client.Web, error) { return answerOf[client.Web](c) }

func (c leakyCity) StartWeb(context.Context, client.WebRequest) (client.Web, error) {
	return answerOf[client.Web](c)
}

func (c leakyCity) StopWeb(context.Context) (client.Web, error) { return answerOf[client.Web](c) }

func (c leakyCity) NewWebCode(context.Context, client.WebCodeRequest) (client.WebCode, error) {
	return answerOf[client.WebCode](c)
}

func (c leakyCity) WebDevices(context.Context) ([]client.WebDevice, error) {
	return answerOf[[]client.WebDevice](c)
}

func (c leakyCity) RevokeWebDevice(context.Context, string) (client.WebDevice, error) {
	return answerOf[client.WebDevice](c)
}

func (c leakyCity) CheckTool(context.Context, client.GuardCheckRequest) (client.GuardCheck, error) {
	return answerOf[client.GuardCheck](c)
}

func (c leakyCity) GuardDecisions(context.Context, client.GuardQuery) (client.GuardDecisions, error) {
	return answerOf[client.GuardDecisions](c)
}

func (c leakyCity) Doctor(context.Context) (client.Findings, error) {
	return answerOf[client.Findings](c)
}

func (c leakyCity) Bundle(context.Context, io.Writer) error {
	_, err := answerOf[string](c)
	return err
}

func (c leakyCity) CopyOut(context.Context, string, client.CopyOutRequest, io.Writer) error {
	_, err := answerOf[string](c)
	return err
}

func (c leakyCity) ConfigFile(context.Context) (client.ConfigFile, error) {
	return answerOf[client.ConfigFile](c)
}

func (c leakyCity) PreviewConfig(context.Context, client.ConfigEdit) (client.ConfigPreview, error) {
	return answerOf[client.ConfigPreview](c)
}

func (c leakyCity) ApplyConfig(context.Context, client.ConfigEdit) (client.Done, error) {
	return answerOf[client.Done](c)
}

func (c leakyCity) Screen(context.Context, string, client.ScreenStyle) (client.Screen, error) {
	return answerOf[client.Screen](c)
}

func (c leakyCity) Screens(_ context.Context, _ []string, _ client.ScreenStyle, send func(client.ScreenUpdate) error) error {
	u, err := answerOf[client.ScreenUpdate](c)
	if err == nil {
		err = send(u)
	}
	return err
}

func (c leakyCity) Changes(context.Context, string, client.ChangesQuery) (client.Changes, error) {
	return answerOf[client.Changes](c)
}

// Logs writes a secret in pieces, as programs print.
func (c leakyCity) Logs(_ context.Context, _ string, _ client.LogQuery, w io.Writer) error {
	text, err := answerOf[string](c)
	for _, b := range []byte(text) {
		if _, err := w.Write([]byte{b}); err != nil {
			return err
		}
	}
	return err
}

func (c leakyCity) Metrics(_ context.Context, w io.Writer) error {
	text, err := answerOf[string](c)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// TestNoRouteAnswersWithASecret asks every route of the control API of a city that puts a secret
// and a token into every answer and every error, and checks that no answer contains one. A new
// route is tested too, because the test uses the table of routes.
func TestNoRouteAnswersWithASecret(t *testing.T) {
	secrets := &redact.Redactor{}
	secrets.Hide(plantedSecret)
	bodies := map[string]string{
		"nudge": `{"text":"x"}`, "keys": `{"keys":["x"]}`, "copy": `{"src":"/x","rel_dst":"x"}`, "respond": `{"option":"x"}`, "allow-always": `{"rule":"x"}`, "edit-prompt": `{"text":"x"}`, "move-prompt": `{"last":true}`,
		"await": `{"target":"x","for":"idle"}`, "add-wait": `{"target":"x","for":"idle","owner":"x"}`, "preview": `{"config":"x"}`, "restart": `{"targets":[]}`, "apply": `{"targets":[]}`, "lift-budget": `{"who":"x"}`, "check-tool": `{"command":"x"}`, "preview-config": `{"text":"x"}`, "apply-config": `{"text":"x","hash":"x"}`,
	}
	for _, failing := range []bool{false, true} {
		root := shortDir(t)
		serveCity(t, leakyCity{failing}, root, Options{Version: "test", Secrets: secrets})
		web := &http.Client{Timeout: deadline, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", client.SocketPath(root))
		}}}
		defer web.CloseIdleConnections()
		for _, r := range routes() {
			if r.id == "present" && !failing { // its answer has no values
				continue
			}
			path := strings.NewReplacer("{target}", "x", "{id}", "x", "{name}", "x").Replace(r.path)
			if r.id == "screens" {
				path += "?target=x"
			}
			var body io.Reader
			if r.body > 0 {
				text := bodies[r.id]
				if text == "" {
					text = "{}"
				}
				body = strings.NewReader(text)
			}
			req, err := http.NewRequestWithContext(t.Context(), r.method, "http://"+client.APIHost+path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(client.VersionHeader, "test")
			res, err := web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			want := http.StatusOK
			if failing {
				want = http.StatusConflict
			}
			if isFile := r.id == "bundle" || r.id == "copy-out"; isFile && !failing { // not masked: package doctor tests the bundle, and a copy is unchanged
				continue
			}
			if res.StatusCode != want || !strings.Contains(string(text), configuration.Masked) {
				t.Errorf("%s %s answers %s without anything masked: %.300s", r.method, path, res.Status, text)
			}
			unbroken := strings.NewReplacer("\n", "", `\n`, "").Replace(string(text))
			for _, secret := range []string{plantedSecret, plantedToken} {
				if at := strings.Index(unbroken, secret); at >= 0 {
					t.Errorf("%s %s answers with %s: %.200s", r.method, path, secret, unbroken[max(0, at-80):])
				}
			}
		}
	}
}
