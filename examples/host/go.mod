module example.com/host

go 1.26.0

require (
	github.com/agentbench-go/agentbench v0.1.0
	github.com/agentbench-go/agentbench/cassettes/openai v0.1.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/openai/openai-go/v3 v3.98.0 // indirect
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/agentbench-go/agentbench => ../..

replace github.com/agentbench-go/agentbench/cassettes/openai => ../../cassettes/openai
