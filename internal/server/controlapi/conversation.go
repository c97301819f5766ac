package controlapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

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

// conversation returns the entries of an agent's conversation that the request selects.
func conversation(ctx context.Context, city City, in *conversationInput) (client.Conversation, error) {
	return city.Conversation(ctx, in.Target, client.ConversationQuery{
		Before: in.Before, Limit: in.Limit, Turn: in.Turn, Since: in.Since, Until: in.Until,
	})
}

// followParameters describes the parameters of [followConversation].
func followParameters() []*huma.Param {
	return []*huma.Param{
		targetParameter(),
		{Name: "limit", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "how many entries at first, at most; 0: 100"},
		timeParameter("since", "at first only entries from then on"),
	}
}

// followConversation writes a conversation as server-sent events: each event has the entries that are new or changed. A
// reader that is too slow is disconnected, and begins again.
func followConversation(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	var q client.ConversationQuery
	var err error
	if q.Since, err = timeOf(r, "since"); err != nil {
		return err
	}
	if text := r.FormValue("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 || q.Limit > client.MaxConversationLimit {
			return fmt.Errorf("%w: limit=%q is not a number from 0 to %d", client.ErrInvalid, text, client.MaxConversationLimit)
		}
	}
	return follow(ctx, s, w, "conversation", func(ctx context.Context, send func(client.Conversation) error) error {
		return s.city.FollowConversation(ctx, r.PathValue("target"), q, send)
	})
}
