package runtime

// Router is implemented by every provider that hands sessions on to others:
// routers and wrappers. It is all that they need to stay transparent to
// extensions.
type Router interface {
	// Route returns the provider that serves the named session, nil if none
	// does. The empty name asks for whatever serves no session in particular.
	Route(session string) Provider
}

// As finds the extension T for the named session: p itself, or what it routes
// the session to, at any depth. A wrapper that means to intercept an extension
// implements it; the walk then stops there.
func As[T any](p Provider, session string) (T, bool) {
	for p != nil {
		if t, ok := p.(T); ok {
			return t, true
		}
		r, ok := p.(Router)
		if !ok {
			break
		}
		p = r.Route(session)
	}
	var none T
	return none, false
}
