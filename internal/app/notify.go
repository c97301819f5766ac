package app

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/internal/controller"
	"gascity/internal/domain/notification"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/internal/server/cityservice"
	"gascity/internal/service/notify"
	"gascity/internal/service/notify/answers"
	"gascity/internal/service/questions"
	"gascity/internal/web"
)

// notifyCity is what the engine of notifications reads.
type notifyCity struct {
	*questions.Service

	controller *controller.Controller
}

// Snapshot returns the controller's snapshot of a session. It implements notify.City.
func (c notifyCity) Snapshot(name string) (session.Snapshot, error) {
	return c.controller.Snapshot(name)
}

// answersFile, in the state directory, stores the key of answer buttons and the used ones.
const answersFile = "answers.json"

// openNotify creates the engine of notifications. Without a [[notify]] section it does nothing.
func (k *controllerProcess) openNotify(e *cityservice.Engines, c *controller.Controller) {
	k.answers = answers.New(answers.Options{
		File: filepath.Join(k.root, citydir.StateFolder, answersFile), Questions: e.Questions, Events: k.store, Logger: k.logger, Now: k.daemon.opts.Now,
		Recipients: k.answerRecipients,
	})
	e.Notify = notify.New(notify.Options{
		City: notifyCity{e.Questions, c}, Store: k.store, Events: k.store, Logger: k.logger, Now: k.daemon.opts.Now, Root: k.root,
		Secrets: k.secrets, Link: k.notifyLink, Answers: k.answers, AnswerTo: k.answerTo,
	})
	e.Notify.SetDevices(k.web.NotifiedDevices())
	if city := k.currentConfig().City; city != nil {
		e.Notify.Configure(k.notifySettings(city))
	}
}

// notifySettings returns the sinks and the rules of a configuration.
func (k *controllerProcess) notifySettings(city *config.City) notify.Settings {
	d := k.daemon
	env := notify.Environment{
		Dir: k.root, Environ: d.Environ.Base(agentcli.Builtin()), GOOS: goruntime.GOOS, Secrets: k.values(),
		FindProgram: func(name string) (string, error) { return proc.FindProgram(name, k.root, d.Environ.Get("PATH")) },
		Push: notify.Push{
			Key: k.pushKey, Devices: k.web, Dial: d.opts.PushDial, TLS: d.opts.PushTLS,
			Contact: k.webAddress,
		},
	}
	s := notify.Settings{City: city.Workspace.Name}
	for i := range city.Notify {
		n := &city.Notify[i]
		s.Sinks = append(s.Sinks, notify.NewSink(n, env))
		s.Rules = append(s.Rules, notifyRule(n))
	}
	for i := range city.Notify { // an escalation is another rule of the other sink
		n := &city.Notify[i]
		at := slices.IndexFunc(city.Notify, func(other config.Notify) bool { return other.Name == n.EscalateTo })
		if at < 0 {
			continue
		}
		rule := notifyRule(&city.Notify[at])
		rule.Agents, rule.For = n.Agents, n.EscalateAfter
		rule.Kinds = slices.DeleteFunc(notifyRule(n).Kinds, func(kind notification.Kind) bool { return kind.Group() == notification.Finished })
		s.Rules = append(s.Rules, rule)
	}
	return s
}

// webPush returns what the web console needs to offer notifications.
func (k *controllerProcess) webPush() *web.Push {
	return &web.Push{
		Key: k.pushKey.Public,
		Sinks: func() (names []string) {
			city := k.currentConfig().City
			if city == nil {
				return nil
			}
			for i := range city.Notify {
				if city.Notify[i].Type == config.NotifyWebPush {
					names = append(names, city.Notify[i].Name)
				}
			}
			return names
		},
		Changed: func(devices []client.WebDevice) {
			if k.engines != nil {
				k.engines.Notify.SetDevices(devices)
			}
		},
	}
}

// notifyRule returns the rule of a [[notify]] section.
func notifyRule(n *config.Notify) notification.Rule {
	r := notification.Rule{Sink: n.Name, Agents: n.Agents, For: n.For, MinTurn: n.MinTurn, WhileAttached: n.WhileAttached, Batch: n.Batch}
	on := n.On
	if !n.Has("on") {
		on = []config.NotifyKind{config.NotifyKind(notification.NeedsMe), config.NotifyKind(notification.Finished)}
	}
	for _, word := range on {
		if kinds := notification.Group(word).Kinds(); kinds != nil {
			r.Kinds = append(r.Kinds, kinds...)
		} else {
			r.Kinds = append(r.Kinds, notification.Kind(word))
		}
	}
	for _, text := range n.Quiet {
		if span, err := config.ParseDaySpan(text); err == nil { // it was checked when the file was read
			r.Quiet = append(r.Quiet, span)
		}
	}
	return r
}

// answerRecipients returns the sinks, and the devices of sinks, whose buttons may answer questions.
func (k *controllerProcess) answerRecipients() []answers.Recipient {
	city := k.currentConfig().City
	if city == nil {
		return nil
	}
	var all []answers.Recipient
	for i := range city.Notify {
		switch n := &city.Notify[i]; {
		case !n.Answer:
		case n.Type == config.NotifyWebPush:
			all = append(all, k.answerDevices(n.Name)...)
		default:
			all = append(all, answers.Recipient{Sink: n.Name, Post: n.Type != config.NotifyTelegram})
		}
	}
	return all
}

// answerDevices returns the devices that get the notifications of a sink and may answer questions.
func (k *controllerProcess) answerDevices(sink string) (all []answers.Recipient) {
	for _, d := range k.web.NotifiedDevices() {
		if slices.Contains(d.Scopes, client.ScopeAnswer) {
			all = append(all, answers.Recipient{Sink: sink, Device: d.ID, Post: true})
		}
	}
	return all
}

// answerTo returns the address to which answer buttons send their answer; empty if the web console is off.
func (k *controllerProcess) answerTo(ctx context.Context) string {
	base := k.webAddress(ctx)
	if base == "" {
		return ""
	}
	return base + answers.Path
}

// notifyLink returns the address of a question, of an agent, or of the web console; empty if it is off.
func (k *controllerProcess) notifyLink(ctx context.Context, agent, question string) string {
	base := k.webAddress(ctx)
	switch {
	case base == "":
		return ""
	case question != "":
		return base + "/#/needs/" + url.PathEscape(question)
	case agent != "":
		return base + "/#/agent/" + url.PathEscape(agent)
	}
	return base + "/#/"
}

// webAddress returns the address of the web console for other devices, without a slash at its end; empty if it is off.
func (k *controllerProcess) webAddress(ctx context.Context) string {
	on, err := k.web.Web(ctx) // it does not wait
	city := k.currentConfig().City
	if err != nil || !on.Running || city == nil {
		return ""
	}
	base := on.URL
	scheme, _, _ := strings.Cut(base, "://")
	if hosts := city.Web.Hosts; len(hosts) > 0 {
		if _, origin, ok := config.ParseWebHost(hosts[0], scheme); ok {
			base = origin
		}
	}
	return strings.TrimRight(cmp.Or(city.Web.URL, base), "/")
}
