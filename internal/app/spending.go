package app

import (
	"gascity/internal/controller"
	"gascity/internal/server/cityservice"
	"gascity/internal/service/budgets"
	"gascity/internal/service/engine"
)

// openSpending creates the budget service of the city.
func (k *controllerProcess) openSpending(e *cityservice.Engines, c *controller.Controller) {
	e.Budgets = budgets.New(engine.Required(budgets.Options{
		City: c, Store: k.store, Events: e.Events, Rules: k.budgets, Changed: func(session string) { e.Prompts.SessionChanged(session) },
		Logger: k.logger, Now: k.daemon.opts.Now,
	}))
}

// budgets returns the budgets and prices of the current configuration.
func (k *controllerProcess) budgets() budgets.Rules {
	return k.currentConfig().Spending
}
