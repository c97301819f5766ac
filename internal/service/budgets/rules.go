package budgets

import (
	"fmt"
	"os"

	"gascity/internal/config"
	"gascity/internal/domain/usage"
)

// RulesOf returns the budgets and the prices of a city's configuration. A mistake in the price
// table is an error with its position.
func RulesOf(city *config.City) (Rules, error) {
	prices, err := pricesOf(city)
	if err != nil {
		return Rules{}, err
	}
	rules := Rules{Prices: prices}
	for i := range city.Usage.Budgets {
		b := &city.Usage.Budgets[i]
		limit := b.Limit.Value
		if b.Measure == config.MeasureTime {
			limit = b.Limit.Span.Seconds()
		}
		rules.Budgets = append(rules.Budgets, usage.Budget{
			Name: b.Name, Scope: usage.Scope(b.Scope), Match: b.Match, Measure: usage.Measure(b.Measure), Limit: limit, Window: b.Window,
			Act: usage.Act(b.Act), Cached: b.Cached, Silence: b.Silence,
		})
	}
	return rules, nil
}

// pricesOf reads the city's price table, or returns the built-in one if none is configured.
func pricesOf(city *config.City) (usage.Prices, error) {
	if city.Usage.Prices == "" {
		return usage.ShippedPrices()
	}
	text, err := os.ReadFile(city.Abs(city.Usage.Prices))
	if err != nil {
		return usage.Prices{}, fmt.Errorf("%s: cannot read the price table: %w", city.Usage.Origin("prices"), err)
	}
	prices, err := usage.DecodePrices(city.Usage.Prices, text)
	if err != nil {
		return usage.Prices{}, fmt.Errorf("%w (named at %s)", err, city.Usage.Origin("prices"))
	}
	return prices, nil
}
