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

// Table returns the text of the table that comes with the product, for people to change.
func Table() []byte { return slices.Clone(prices) }

// Price is what a model costs from a day on, in US dollars for a million tokens.
type Price struct {
	Model      string         `toml:"model"`    // pattern
	Provider   string         `toml:"provider"` // who serves it, as gen_ai.provider.name of OpenTelemetry has it
	Since      toml.LocalDate `toml:"since"`    // the zero day is always
	Input      float64        `toml:"input"`
	Output     float64        `toml:"output"` // of reasoning too
	CacheRead  float64        `toml:"cache_read"`
	CacheWrite float64        `toml:"cache_write"`
}

// Prices is a dated table of prices.
type Prices struct {
	Version string  `toml:"version"`
	Prices  []Price `toml:"price"`
}

// ShippedPrices returns the table that comes with the product.
func ShippedPrices() (Prices, error) { return DecodePrices("prices.toml", prices) }

// DecodePrices reads a table from TOML. name stands in errors, which have line and
// column.
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

// CostSource says how a cost is known.
type CostSource string

// The ways to know a cost.
const (
	CostReported CostSource = "told"    // by the source of the numbers
	CostPriced   CostSource = "priced"  // by the table
	CostUnknown  CostSource = "unknown" // no price, or not all numbers
)

// Cost returns what an entry cost, in US dollars. A model without a price, and an entry
// with no numbers, have an unknown cost.
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

// Provider is who serves a model, empty if the table does not say.
func (p Prices) Provider(model string) string {
	for _, price := range p.Prices {
		if fits, err := path.Match(price.Model, model); err == nil && fits && price.Provider != "" {
			return price.Provider
		}
	}
	return ""
}

// priceAt returns the price of a model at a time: the latest that was in force, and among
// those of one day the one that stands first.
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

func (p Price) since() time.Time {
	if p.Since == (toml.LocalDate{}) {
		return time.Time{}
	}
	return p.Since.AsTime(time.UTC)
}
