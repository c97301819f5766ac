package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// UsageRequest says what is to be summed up.
type UsageRequest struct {
	By    string    // "agent", "model", "day" or "tool"; empty is agent
	Since time.Time // zero: all that is kept
}

// Usage is what the city's agents have spent.
type Usage struct {
	By     string     `json:"by"`
	Since  time.Time  `json:"since,omitzero"`
	At     time.Time  `json:"at"`
	Prices string     `json:"prices"` // version of the table of prices
	Groups []UsageSum `json:"groups"` // the greatest cost first; days in their order
	Total  UsageSum   `json:"total"`
}

// UsageSum is what a group has spent. What was not reported is unknown, which is
// never zero: a nil number is not known at all, and one beside Untold or Unpriced
// is the known part of it.
type UsageSum struct {
	Group     string      `json:"group"`
	Responses int         `json:"responses"`
	Turns     int         `json:"turns"`
	Tokens    UsageTokens `json:"tokens"`
	Untold    int         `json:"untold,omitempty"`   // responses without any number of tokens
	CostUSD   *float64    `json:"cost_usd"`           // reported by the source, or from the table of prices
	Unpriced  int         `json:"unpriced,omitempty"` // responses whose cost is not known

	Calls       int     `json:"calls,omitempty"`  // of tools
	Failed      int     `json:"failed,omitempty"` // of them
	ToolSeconds float64 `json:"tool_seconds,omitempty"`

	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// UsageTokens are disjoint: no token is in two of them. Nil is not known.
type UsageTokens struct {
	Input      *int64 `json:"input"` // not from the cache
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Output     *int64 `json:"output"`    // what is not reasoning
	Reasoning  *int64 `json:"reasoning"` // nil too where the model provider counts it as output
}

// Burn is how fast somebody spends, over the last ten minutes or since the first
// response in them.
type Burn struct {
	TokensPerMinute *float64 `json:"tokens_per_minute"`  // without those from the cache; nil: not known
	USDPerHour      *float64 `json:"usd_per_hour"`       // nil: not known
	Partial         bool     `json:"partial,omitempty"`  // there are more tokens, which were not reported
	Unpriced        bool     `json:"unpriced,omitempty"` // it costs more, by an unknown price
}

// Budget is how much of a budget somebody has used.
type Budget struct {
	Name    string    `json:"name"`
	Scope   string    `json:"scope"`         // "session", "agent" or "city"
	Who     string    `json:"who,omitempty"` // the session or agent; empty: the city
	Measure string    `json:"measure"`       // "tokens", "usd", "turns" or "time" (seconds)
	Used    float64   `json:"used"`
	Limit   float64   `json:"limit"`
	Window  float64   `json:"window_seconds,omitempty"` // zero: for ever
	Act     string    `json:"act"`                      // "warn", "hold", "interrupt" or "stop"
	Over    bool      `json:"over"`                     // it is used up, and the act in force
	Unknown string    `json:"unknown,omitempty"`        // why more than Used may be used
	Until   time.Time `json:"until,omitzero"`           // when it is not over any more, if nothing more is spent; zero: not over, or not by itself
	Text    string    `json:"text"`                     // all that in one line
}

// LiftRequest says whose budget is lifted.
type LiftRequest struct {
	Who string `json:"who,omitempty"` // the session or agent that it is over for; empty: everybody
}

// Usage returns what was spent.
func (c *Client) Usage(ctx context.Context, req UsageRequest) (Usage, error) {
	query := url.Values{}
	if req.By != "" {
		query.Set("by", req.By)
	}
	if !req.Since.IsZero() {
		query.Set("since", req.Since.Format(time.RFC3339Nano))
	}
	path := "/v1/usage"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return call[Usage](ctx, c, http.MethodGet, path, nil)
}

// Budgets returns how much of each budget is used.
func (c *Client) Budgets(ctx context.Context) ([]Budget, error) {
	return call[[]Budget](ctx, c, http.MethodGet, "/v1/budgets", nil)
}

// LiftBudget lets a budget begin again: what was spent until now does not count for it
// any more.
func (c *Client) LiftBudget(ctx context.Context, name string, req LiftRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/budgets/"+url.PathEscape(name)+"/lift", req)
}

// Metrics returns the city's metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	res, err := c.send(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics: %w", c.explain(ctx, err))
	}
	return text, nil
}
