package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// UsageRequest selects and groups usage.
type UsageRequest struct {
	By     string    // "agent", "model", "hour", "day" or "tool"; empty means agent
	Since  time.Time // zero means all stored usage
	Target string    // only the usage of this agent or session; empty means all
}

// Usage is what the city's agents have spent.
type Usage struct {
	By     string     `json:"by"`
	Target string     `json:"target,omitempty"`
	Since  time.Time  `json:"since,omitzero"`
	At     time.Time  `json:"at"`
	Prices string     `json:"prices"` // version of the table of prices
	Groups []UsageSum `json:"groups"` // highest cost first; hours and days in order of time, without those that have no usage
	Total  UsageSum   `json:"total"`
}

// UsageSum is the usage of one group. A number that was not reported is unknown, which is not zero.
// A nil number is unknown. If Untold or Unpriced is not zero, the number is only the known part.
type UsageSum struct {
	Group     string      `json:"group"` // an hour is its beginning as RFC 3339, a day is YYYY-MM-DD; both in the time zone of the controller
	Responses int         `json:"responses"`
	Turns     int         `json:"turns"`
	Tokens    UsageTokens `json:"tokens"`
	Untold    int         `json:"untold,omitempty"`   // number of responses without reported tokens
	CostUSD   *float64    `json:"cost_usd"`           // reported by the source, or from the table of prices
	Unpriced  int         `json:"unpriced,omitempty"` // number of responses with unknown cost

	Calls       int     `json:"calls,omitempty"`  // of tools
	Failed      int     `json:"failed,omitempty"` // of them
	ToolSeconds float64 `json:"tool_seconds,omitempty"`

	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// UsageTokens are token counts. No token is counted in two fields. Nil means unknown.
type UsageTokens struct {
	Input      *int64 `json:"input"` // input tokens that are not from the cache
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Output     *int64 `json:"output"`    // output tokens without reasoning
	Reasoning  *int64 `json:"reasoning"` // also nil if the model provider counts it as output
}

// Burn is the rate of spending over the last ten minutes, or since the first response in them.
type Burn struct {
	TokensPerMinute *float64 `json:"tokens_per_minute"`  // without tokens from the cache; nil if unknown
	USDPerHour      *float64 `json:"usd_per_hour"`       // nil if unknown
	Partial         bool     `json:"partial,omitempty"`  // more tokens were used than reported
	Unpriced        bool     `json:"unpriced,omitempty"` // a part has an unknown price
}

// Budget is the state of a budget.
type Budget struct {
	Name    string    `json:"name"`
	Scope   string    `json:"scope"`         // "session", "agent" or "city"
	Who     string    `json:"who,omitempty"` // session or agent; empty means the city
	Measure string    `json:"measure"`       // "tokens", "usd", "turns" or "time" (seconds)
	Used    float64   `json:"used"`
	Limit   float64   `json:"limit"`
	Window  float64   `json:"window_seconds,omitempty"` // zero means without end
	Act     string    `json:"act"`                      // "warn", "hold", "interrupt" or "stop"
	Over    bool      `json:"over"`                     // it is exceeded, and the action is active
	Unknown string    `json:"unknown,omitempty"`        // why the real use may be higher than Used
	Until   time.Time `json:"until,omitzero"`           // when it is not exceeded any more if nothing more is spent; zero if it is not exceeded, or does not end by itself
	Text    string    `json:"text"`                     // the same as one line of text
}

// LiftRequest selects whose budget is reset.
type LiftRequest struct {
	Who string `json:"who,omitempty"` // session or agent whose budget is exceeded; empty means all
}

// Usage returns the usage that the request selects. A target that does not exist and never had usage is [ErrNotFound].
func (c *Client) Usage(ctx context.Context, req UsageRequest) (Usage, error) {
	parameters := query(map[string]string{"by": req.By, "since": stamp(req.Since), "target": req.Target})
	return call[Usage](ctx, c, http.MethodGet, "/v1/usage"+parameters, nil)
}

// Budgets returns the state of each budget.
func (c *Client) Budgets(ctx context.Context) ([]Budget, error) {
	return call[[]Budget](ctx, c, http.MethodGet, "/v1/budgets", nil)
}

// LiftBudget resets a budget: earlier usage does not count for it any more.
func (c *Client) LiftBudget(ctx context.Context, name string, req LiftRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/budgets/"+url.PathEscape(name)+"/lift", req)
}

// Metrics returns the city's metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	body, err := c.open(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics: %w", c.explain(ctx, err))
	}
	return text, nil
}
