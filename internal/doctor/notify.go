package doctor

import (
	"fmt"

	"gascity/client"
	"gascity/internal/textfmt"
)

// notify checks whether the sinks for notifications confirm what they are sent.
func (x *examination) notify() {
	if !x.control || x.r.City == nil || len(x.r.City.Notify) == 0 {
		return
	}
	list, err := ask(x, (*client.Client).Notifications)
	if err != nil {
		return // the finding about the controller reports it
	}
	failed := map[string]int{}
	for _, n := range list.Notifications {
		if n.State == client.NotifyFailed {
			failed[n.Sink]++
		}
	}
	for _, sink := range list.Sinks {
		check, test := "notify."+sink.Name, "correct the cause, then: gc notify test "+sink.Name
		switch {
		case sink.Type == client.NotifyTypeWebPush && sink.Devices == 0:
			x.warn(check, sink.Name+" notifies no device", "open the web console on the device (gc web), page City, and press Notify this device")
		case sink.Error != "":
			x.warn(check, fmt.Sprintf("%s does not confirm notifications, %d wait: %s", sink.Name, sink.Waiting, textfmt.Brief(sink.Error)), test)
		case sink.AnswerError != "":
			x.warn(check, fmt.Sprintf("the answer buttons of %s do not work: %s", sink.Name, textfmt.Brief(sink.AnswerError)), "correct the cause; until then: gc respond")
		case failed[sink.Name] > 0:
			x.warn(check, fmt.Sprintf("%s failed in the last 7 days", textfmt.Count(failed[sink.Name], "notification")), "gc notify list --failed shows why; gc notify retry sends one again")
		default:
			x.ok(check, "notifications are sent to %s (%s)", sink.Name, sink.Type)
		}
	}
}
