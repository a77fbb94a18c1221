// Package cassettes is empty: what records and reads model traffic stands in
// the packages below it.
//
//   - drive, tape, endpoint, openai and secrets record a live model on a
//     cassette, without keys and personal data, and play the cassette back.
//   - trajectories reads and replays the runs that other agents recorded, and
//     trajectories/wire decodes the HTTP traffic of the LLM APIs.
package cassettes
