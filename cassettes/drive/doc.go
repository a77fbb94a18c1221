// Package drive runs the reference loop with the tools and the user of a scenario
// and with a real model: an endpoint, or a cassette of one.
//
// Everything except the model is simulated, in virtual time. A request takes as long
// in virtual time as it took in real time, so a recorded session plays without a
// network and has the same trace, byte for byte. While a session is recorded, real
// time never runs behind virtual time: a wait before a retry is a real wait.
//
//	session := &drive.Session{Scenario: scenario, Settings: settings, Connect: openai.New, Redactor: newRedactor}
//	played, err := session.Record(ctx, "refund.cassette.yaml", tape.Once, http.DefaultTransport, "1.0", time.Now())
package drive
