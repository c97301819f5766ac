package app

import (
	"gascity/internal/controller"
	"gascity/internal/server/cityservice"
	"gascity/internal/service/budgets"
	"gascity/internal/store"
)

// openSpending creates the budget service of the city.
func (k *controllerProcess) openSpending(e *cityservice.Engines, c *controller.Controller, db *store.DB) {
	e.Budgets = budgets.New(budgets.Options{
		City: c, Store: db, Events: e.Events, Rules: k.budgets, Changed: func(session string) { e.Prompts.SessionChanged(session) },
		Logger: k.logger, Now: k.daemon.opts.Now,
	})
	k.spending = e.Budgets
}

// budgets returns the budgets and prices of the current configuration.
func (k *controllerProcess) budgets() budgets.Rules {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last.Spending
}
