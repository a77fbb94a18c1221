// Package host serves the loop over HTTP: a message in, the events of its run out
// as server-sent events, the outcome last. It needs only the standard library.
//
//	h, err := host.New(host.Options{Tenants: []host.Tenant{{
//		Name:  "shop",
//		Key:   os.Getenv("SHOP_KEY"),
//		Agent: host.Agent{Config: loop.Default(), Model: model, Tools: tools},
//		Store: store, // such as session.Dir("sessions/shop")
//	}}})
//	…
//	server := &http.Server{Addr: "127.0.0.1:8080", Handler: h, ReadHeaderTimeout: 10 * time.Second}
//
// # Routes
//
// Each request has the header Authorization: Bearer KEY, which says whose it is. A
// tenant has sessions, a store, a config, rates and a kill switch of its own. It cannot
// see that there are others.
//
//	POST /v1/sessions/{session}/messages       a message of the user; the stream of its run
//	GET  /v1/sessions/{session}/events         the stream of what happened and happens
//	GET  /v1/sessions/{session}                what the session does
//	POST /v1/sessions/{session}/answers/{ref}  the answer to a question or a permission
//	POST /v1/sessions/{session}/cancel         ends the run that is under way
//	POST /v1/stop                              the kill switch: ends all runs, takes no message
//	POST /v1/start                             takes messages again
//
// The client names a session: up to 200 letters, digits, dots, dashes and underscores,
// without a dot at the front. Its first message begins it.
//
// A message is {"text": "…"}. Messages of one session run one after another. A message
// with "steer": true goes to the run that is under way: the model reads it with its
// next request. If there is no such run it has a run of its own. A run goes on if its
// client leaves. A message whose run has not begun by then gets no run.
//
// # Streams
//
// An event has a name, a number and data, which is one JSON object ([Event]):
//
//	id: 3
//	event: call-started
//	data: {"at_ms":1000,"run":1,"turn":1,"ref":"c1","tool":"read_file","args":"{}"}
//
// The names are those of [github.com/agentbench-go/agentbench/loop/events]. The last
// event of a run is run-ended or run-failed, with the outcome. The stream ends after the
// run that the message had. The host has two more names: error, with the text of what
// broke, ends a stream; gap, with how many events are missing, is for a reader that was
// too slow. Events are numbered through the session. A reader that lost its connection
// goes on where it was with the header Last-Event-ID, or with ?after=3. The numbers of
// a session that broke off may begin again a little earlier, since pieces of a reply
// that was not whole are not saved. A line ": alive" comes when nothing else does.
//
// A question (event question) and a permission (event permission) have a ref. The
// answer to it is {"allow": true} or {"allow": false}, with an optional text. If nobody
// answers in time ([Limits]), the answer is no.
//
// # Restarts
//
// A session is saved after each step. One that broke off, because the process ended,
// goes on with the next request for its events or the next message: first the run that
// broke off ends, then the message has its run. [Host.Close] breaks runs off in this
// way after a time.
//
// # Errors
//
// An error is {"error": "…"} with a status: 400 for a request that says something wrong,
// 401 for a key that nobody has, 404 for what does not exist, 408 for a body that does
// not come, 409 for a session that
// another process has taken or that is full, 413 for a body that is too large, 429 with
// Retry-After for too many messages, runs, sessions or streams, 503 for a tenant that is
// stopped and a host that closes.
package host
