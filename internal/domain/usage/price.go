package usage

import (
	"bytes"
	_ "embed" // the table of prices
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

//go:embed prices.toml
var prices []byte

// Table returns the text of the built-in price table, so that people can change a copy.
func Table() []byte { return slices.Clone(prices) }

// Price is the price of a model from a day on, in US dollars per million tokens.
type Price struct {
	Model      string         `toml:"model"`    // pattern
	Provider   string         `toml:"provider"` // the model provider, as in gen_ai.provider.name of OpenTelemetry
	Since      toml.LocalDate `toml:"since"`    // the first day; zero: always
	Input      float64        `toml:"input"`
	Output     float64        `toml:"output"` // also for reasoning tokens
	CacheRead  float64        `toml:"cache_read"`
	CacheWrite float64        `toml:"cache_write"`
}

// Prices is a table of prices with their first days.
type Prices struct {
	Version string  `toml:"version"`
	Prices  []Price `toml:"price"`
}

// ShippedPrices returns the built-in price table.
func ShippedPrices() (Prices, error) { return DecodePrices("prices.toml", prices) }

// DecodePrices decodes a price table from TOML. Errors begin with name and, for mistakes in the
// syntax, line and column.
func DecodePrices(name string, data []byte) (Prices, error) {
	var p Prices
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&p)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		row, column := unknown.Errors[0].Position()
		return Prices{}, fmt.Errorf("%s:%d:%d: unknown key %q", name, row, column, strings.Join(unknown.Errors[0].Key(), "."))
	}
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := fault.Position()
		return Prices{}, fmt.Errorf("%s:%d:%d: %s", name, row, column, strings.TrimPrefix(fault.Error(), "toml: "))
	}
	if err != nil {
		return Prices{}, fmt.Errorf("%s: %w", name, err)
	}
	for _, price := range p.Prices {
		if _, err := path.Match(price.Model, ""); err != nil || price.Model == "" {
			return Prices{}, fmt.Errorf("%s: %q is not a pattern of a model", name, price.Model)
		}
		if min(price.Input, price.Output, price.CacheRead, price.CacheWrite) < 0 {
			return Prices{}, fmt.Errorf("%s: the price of %s is below zero", name, price.Model)
		}
	}
	return p, nil
}

// CostSource states where a cost comes from.
type CostSource string

// The sources of a cost.
const (
	CostReported CostSource = "told"    // reported with the token numbers
	CostPriced   CostSource = "priced"  // computed with the price table
	CostUnknown  CostSource = "unknown" // no price, or numbers are missing
)

// Cost returns the cost of an entry in US dollars. It is unknown for a model without a price and
// for an entry without the numbers of input and output tokens.
func (p Prices) Cost(e Entry) (float64, CostSource) {
	if e.Cost != nil {
		return *e.Cost, CostReported
	}
	price, ok := p.priceAt(e.Model, e.At)
	if _, known := e.Tokens.Total(); !ok || !known || e.Tokens.Input == nil || e.Tokens.Output == nil {
		return 0, CostUnknown
	}
	sum := 0.0
	for _, row := range []struct {
		tokens *int64
		price  float64
	}{
		{e.Tokens.Input, price.Input},
		{e.Tokens.CacheRead, price.CacheRead},
		{e.Tokens.CacheWrite, price.CacheWrite},
		{e.Tokens.Output, price.Output},
		{e.Tokens.Reasoning, price.Output},
	} {
		if row.tokens != nil {
			sum += float64(*row.tokens) * row.price / 1e6
		}
	}
	return sum, CostPriced
}

// Provider returns the model provider of a model, empty if the table has none.
func (p Prices) Provider(model string) string {
	for _, price := range p.Prices {
		if fits, err := path.Match(price.Model, model); err == nil && fits && price.Provider != "" {
			return price.Provider
		}
	}
	return ""
}

// priceAt returns the price of a model at a time: the one with the latest first day, and of
// several with the same day the first in the table.
func (p Prices) priceAt(model string, at time.Time) (Price, bool) {
	var found Price
	ok := false
	for _, price := range p.Prices {
		if fits, err := path.Match(price.Model, model); err != nil || !fits {
			continue
		}
		since := price.since()
		if since.After(at) {
			continue
		}
		if !ok || since.After(found.since()) {
			found, ok = price, true
		}
	}
	return found, ok
}

// since returns the first day as a time in UTC.
func (p Price) since() time.Time {
	if p.Since == (toml.LocalDate{}) {
		return time.Time{}
	}
	return p.Since.AsTime(time.UTC)
}
