package controlapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gascity/client"
)

// conversationInput selects entries of a conversation.
type conversationInput struct {
	Named
	Before uint64    `query:"before" doc:"only entries before the one with this id; 0: the newest"`
	Limit  int       `query:"limit" minimum:"0" maximum:"1000" doc:"how many entries, at most; 0: 100"`
	Turn   int       `query:"turn" minimum:"0" maximum:"1000000" doc:"only this turn, counted from the end; 1 is the last turn"`
	Since  time.Time `query:"since" doc:"only entries from then on"`
	Until  time.Time `query:"until" doc:"only entries up to then"`
}

// conversationsOf returns the city as a [Conversations], or client.ErrUnsupported if it does not read conversations.
func conversationsOf(city City) (Conversations, error) {
	c, ok := city.(Conversations)
	if !ok {
		return nil, fmt.Errorf("%w: this city does not support reading conversations", client.ErrUnsupported)
	}
	return c, nil
}

// conversation answers with the entries of an agent's conversation that the request selects.
func conversation(ctx context.Context, city City, in *conversationInput) (*reply[client.Conversation], error) {
	c, err := conversationsOf(city)
	if err != nil {
		return nil, err
	}
	return answer(c.Conversation(ctx, in.Target, client.ConversationQuery{
		Before: in.Before, Limit: in.Limit, Turn: in.Turn, Since: in.Since, Until: in.Until,
	}))
}

// followConversation writes a conversation as server-sent events: each event has the entries that are new or changed. A
// reader that is too slow is disconnected, and begins again.
func followConversation(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	c, err := conversationsOf(s.city)
	if err != nil {
		return err
	}
	var q client.ConversationQuery
	if q.Since, err = timeOf(r, "since"); err != nil {
		return err
	}
	if text := r.FormValue("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 || q.Limit > client.MaxConversationLimit {
			return fmt.Errorf("%w: limit=%q is not a number from 0 to %d", client.ErrInvalid, text, client.MaxConversationLimit)
		}
	}
	return follow(ctx, s, w, "conversation", func(ctx context.Context, send func(client.Conversation) error) error {
		return c.FollowConversation(ctx, r.PathValue("target"), q, send)
	})
}
