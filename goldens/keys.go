package goldens

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// lineWords are the words of the lines of a trace.
var lineWords = []string{"answer", "ask", "call", "cancel", "delta", "drop", "failure", "gate", "halt", "message", "note", "put",
	"reply", "result", "started", "steer", "tick"}

// A key names the fields of [loop.Input], [loop.Effect] and [loop.Outcome] that hold
// its value; "" = none.
type key struct{ input, effect, outcome string }

// keys are the keys of a trace's lines and two more: time, which a line begins with,
// and id, which is before a call's name.
var keys = map[string]*key{
	"time":        {input: "At"},
	"id":          {input: "Calls"},
	"allow":       {input: "Allow"},
	"code":        {input: "Code", effect: "Code"},
	"status":      {input: "Status"},
	"retry_after": {input: "RetryAfter"},
	"text":        {input: "Text", effect: "Text"},
	"finish":      {input: "Finish"},
	"in":          {input: "TokensIn", outcome: "TokensIn"},
	"out":         {input: "TokensOut", outcome: "TokensOut"},
	"cost":        {input: "Cost", outcome: "Cost"},
	"used":        {input: "Used"},
	"spawned":     {input: "Spawned"},
	"args":        {input: "Args", effect: "Args"},
	"result":      {input: "Result"},
	"system":      {input: "System"},
	"cause":       {input: "Cause"},
	"for":         {effect: "For"},
	"to":          {effect: "To"},
	"choice":      {effect: "Choice"},
	"at":          {effect: "At"},
	"of":          {effect: "Of"},
	"name":        {effect: "Name"},
	"event":       {effect: "Event"},
	"why":         {effect: "Why"},
	"by":          {effect: "By"},
	"stop":        {outcome: "Stop"},
	"end":         {outcome: "End"},
	"reason":      {outcome: "Reason"},
	"message":     {outcome: "Message"},
	"answer":      {outcome: "Answer"},
	"incomplete":  {outcome: "Incomplete"},
	"turns":       {outcome: "Turns"},
	"model_calls": {outcome: "ModelCalls"},
	"asked":       {input: "Asked", outcome: "Asked"},
	"sub_asked":   {outcome: "SubAsked"},
	"calls":       {outcome: "Calls"},
	"sub_calls":   {outcome: "SubCalls"},
	"spawns":      {outcome: "Spawns"},
	"tries":       {outcome: "Tries"},
	"repairs":     {outcome: "Repairs"},
	"repairs_ok":  {outcome: "RepairsOK"},
	"errors":      {outcome: "Errors"},
	"vetoed":      {outcome: "Vetoed"},
	"nudges":      {outcome: "Nudges"},
	"denied":      {outcome: "Denied"},
	"invalid":     {outcome: "Invalid"},
	"elapsed":     {outcome: "Elapsed"},
}

func keyNames() []string { return slices.Sorted(maps.Keys(keys)) }

// in returns the value of a key in a line, in place, or the zero Value if the line has
// no such key.
func (k *key) in(e *entry) reflect.Value {
	var owner any
	name := k.input
	switch {
	case e.effect == nil:
		owner = &e.input
	case e.effect.Outcome != nil:
		owner, name = e.effect.Outcome, k.outcome
	default:
		owner, name = e.effect, k.effect
	}
	if name == "" {
		return reflect.Value{}
	}
	return reflect.ValueOf(owner).Elem().FieldByName(name)
}

// zeroOf returns a value of the key's type.
func (k *key) zeroOf() reflect.Value {
	for _, in := range []struct {
		owner any
		name  string
	}{{loop.Input{}, k.input}, {loop.Effect{}, k.effect}, {loop.Outcome{}, k.outcome}} {
		if in.name != "" {
			return reflect.ValueOf(in.owner).FieldByName(in.name)
		}
	}
	return reflect.Value{}
}

func namesWhere(ok func(string) bool) []string {
	return slices.DeleteFunc(keyNames(), func(name string) bool { return !ok(name) })
}

func isTextKey(name string) bool {
	k := keys[name]
	return k != nil && k.zeroOf().Kind() == reflect.String
}

func textKeys() []string { return namesWhere(isTextKey) }

func isNumberKey(name string) bool {
	k := keys[name]
	return k != nil && k.zeroOf().CanInt()
}

func numberKeys() []string { return namesWhere(isNumberKey) }

func isTimeKey(name string) bool {
	k := keys[name]
	if k == nil {
		return false
	}
	_, ok := k.zeroOf().Interface().(time.Duration)
	return ok
}

// number returns the value that an amount is compared with: seconds for times.
func number(v reflect.Value) float64 {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.Seconds()
	}
	return float64(v.Int())
}
