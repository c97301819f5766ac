// Package bed is where real agent CLIs are tested: pinned versions from npm in a cache of
// their own, each agent in a throw-away home with dummy keys and a mock model, and a city
// around them that is started by gc's own commands.
//
// Nothing of the user's is read and nothing leaves the machine: an agent's home and
// configuration are new, its model is on 127.0.0.1, and every other address goes to a proxy
// that answers no request and counts them, see [Tripwire]. Only npm, which installs, sees
// the user's environment: it needs the registry that the machine is set up for.
package bed
