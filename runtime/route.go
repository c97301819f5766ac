package runtime

// Router is implemented by every provider that forwards sessions to other providers: routers and
// wrappers. They need nothing else to forward all extensions.
type Router interface {
	// Route returns the provider of the named session, or nil if there is none. For the empty name
	// it returns the provider of operations that concern no single session.
	Route(session string) Provider
}

// As returns the extension T for the named session: p itself, or a provider that p routes the
// session to, at any depth. A wrapper that implements an extension itself ends the search.
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
