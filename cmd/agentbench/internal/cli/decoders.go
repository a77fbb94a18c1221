package cli

import (
	"bytes"
	"errors"
	"io"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// decoders decode what recordings are written in beside JSON, YAML and gzip. Their
// libraries stand in the command's module, so that a user of the library does not get
// them.
var decoders = trajectories.Decoders{
	"br": func(data []byte, most int) ([]byte, error) {
		return readMost(brotli.NewReader(bytes.NewReader(data)), most)
	},
	"zstd": func(data []byte, most int) ([]byte, error) {
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readMost(r, most)
	},
	"otlp": func(data []byte, _ int) ([]byte, error) {
		// TracesData has the same bytes as ExportTraceServiceRequest, without gRPC.
		var request v1.TracesData
		if err := proto.Unmarshal(data, &request); err != nil {
			return nil, err
		}
		return protojson.Marshal(&request)
	},
}

func readMost(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = errors.New("decompressed, it is too large")
	}
	return data, err
}
