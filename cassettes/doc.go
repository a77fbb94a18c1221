// Package cassettes is empty. The packages below it record and read model traffic.
//
//   - drive, tape, endpoint, openai and secrets record a live model on a
//     cassette, without keys and personal data, and play the cassette back.
//   - trajectories reads and replays the runs that other agents recorded, and
//     trajectories/wire decodes the HTTP traffic of the LLM APIs.
package cassettes
