module github.com/agentbench-go/agentbench

go 1.26
