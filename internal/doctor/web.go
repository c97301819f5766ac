package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/config"
)

// reachLimit is how long a host of the web console may take to answer.
const reachLimit = 5 * time.Second

// web checks whether the web console runs, and whether browsers reach it by the configured hosts.
func (x *examination) web() {
	if !x.control || x.r.City == nil {
		return
	}
	on, err := ask(x, (*client.Client).Web)
	switch {
	case err != nil:
		return // the finding about the controller reports it
	case on.Error != "":
		x.problem("web", "the web console cannot be started: "+on.Error, "correct [web] in city.toml, or start it elsewhere: gc web --listen 127.0.0.1:0")
		return
	case !on.Running:
		return
	}
	x.ok("web", "the web console is on: %s", on.URL)
	scheme, _, _ := strings.Cut(on.URL, "://")
	for _, text := range x.r.City.Web.Hosts {
		if host, origin, ok := config.ParseWebHost(text, scheme); ok {
			x.webHost(host, origin)
		}
	}
}

// webHost checks whether a request for a host reaches the web console.
func (x *examination) webHost(host, origin string) {
	ctx, cancel := context.WithTimeout(x.ctx, reachLimit)
	defer cancel()
	check := "web." + host
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, origin+"/", http.NoBody)
	if err != nil {
		x.problem(check, err.Error(), "correct hosts in [web] of city.toml")
		return
	}
	transport := &http.Transport{} // without the proxy of the environment: it is for other hosts
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		x.warn(check, fmt.Sprintf("%s cannot be reached from this machine: %v", origin, err), "check the name, the certificate and the proxy, for example: tailscale serve status")
		return
	}
	_ = res.Body.Close()
	switch {
	case res.Header.Get(client.VersionHeader) == "":
		x.problem(check, fmt.Sprintf("%s answers, but it is not the web console", origin), "let the proxy forward to the address of the web console: gc doctor prints it")
	case res.StatusCode == http.StatusForbidden:
		x.problem(check, "requests for "+origin+" reach the web console with another header Host", "let the proxy pass the header Host unchanged")
	default:
		x.ok(check, "%s reaches the web console", origin)
	}
}
