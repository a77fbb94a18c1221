package soak

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// A Report is the result of a run.
type Report struct {
	Over          Over          `json:"over"`
	Conversations int           `json:"conversations"` // running at the same time
	Ended         int           `json:"ended"`         // all conversations
	Turns         int           `json:"turns"`
	Requests      int           `json:"requests"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Conversation  Quantiles     `json:"conversation"`
	Request       Quantiles     `json:"request"`

	Peak       uint64  `json:"peak_bytes"` // the most memory that the program had from the system
	HeapBefore uint64  `json:"heap_before_bytes"`
	HeapAfter  uint64  `json:"heap_after_bytes"` // both after a garbage collection
	Rests      []Rest  `json:"rests,omitempty"`  // after each half, with the server still running; one for a run of one round
	Slope      float64 `json:"slope_bytes"`      // growth of the heap under a steady load, for each ended conversation
	Samples    int     `json:"samples"`          // number of samples of the slope; below LeastSamples there is no slope
	GCShare    float64 `json:"gc_share"`         // garbage collection's share of CPU time
	Goroutines [2]int  `json:"goroutines"`       // before and after
	Files      [2]int  `json:"files"`            // open files before and after; -1 = not measured

	Interrupted bool          `json:"interrupted,omitempty"`
	Cancelled   int           `json:"cancelled,omitempty"`   // conversations that the interruption ended
	EndTook     time.Duration `json:"end_took_ns,omitempty"` // from the interruption to the end of the last conversation

	Stuck    []string `json:"stuck,omitempty"`    // the last inputs of conversations that stood still
	Wrong    []string `json:"wrong,omitempty"`    // unexpected ends, and how many of each
	Problems []string `json:"problems,omitempty"` // why the run does not pass

	points []point
}

// A Rest is the memory in use when no conversation runs, after a garbage collection.
type Rest struct {
	Ended int    `json:"ended"` // conversations so far
	Heap  uint64 `json:"heap_bytes"`
}

// Growth returns by how many bytes the rest grew in the second half, in all and for each
// of its conversations, and whether that is known: both halves ended.
func (p *Report) Growth() (bytes, each float64, known bool) {
	if len(p.Rests) < 2 {
		return 0, 0, false
	}
	a, b := p.Rests[0], p.Rests[1]
	bytes = float64(b.Heap) - float64(a.Heap)
	return bytes, bytes / float64(max(b.Ended-a.Ended, 1)), true
}

// Passed reports whether the run has no problems.
func (p *Report) Passed() bool { return len(p.Problems) == 0 }

// Quantiles are quantiles of durations, exact to one per cent. P95 is 0 for fewer than 60
// durations, P99 for fewer than 300.
type Quantiles struct {
	P50 time.Duration `json:"p50_ns"`
	P95 time.Duration `json:"p95_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// A sample is the resources that the process uses at one instant.
type sample struct {
	goroutines, files int
	heap              uint64
	gc, cpu           float64 // seconds
}

// take collects garbage and takes the sample.
func (s *sample) take() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap, s.goroutines, s.files = m.HeapAlloc, runtime.NumGoroutine(), openFiles()
	values := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(values)
	s.gc = values[0].Value.Float64()
	s.cpu = s.gc + values[1].Value.Float64()
}

// rest collects garbage until the heap shrinks no more, and returns its size: the second
// collection frees what pools kept, later ones what finalizers and ending goroutines
// held.
func rest() uint64 {
	const most = 10
	least := uint64(math.MaxUint64)
	for range most {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+m.HeapAlloc/100 >= least {
			return min(least, m.HeapAlloc)
		}
		least = m.HeapAlloc
		time.Sleep(20 * time.Millisecond)
	}
	return least
}

// settleTime is how long goroutines and connections may take to end.
const settleTime = 5 * time.Second

// settle takes samples until the goroutines and files opened after before are gone,
// or patience has passed.
func (s *sample) settle(before sample, patience time.Duration) {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s.take()
		if s.goroutines <= before.goroutines+slack && s.files <= before.files+slack || time.Now().After(end) {
			return
		}
	}
}

// openFiles returns the number of open files of the process, or -1 if the system does
// not list them.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// A point is the size of the heap after a number of ended conversations.
type point struct {
	ended int64
	heap  uint64
}

// sampled samples memory, and keeps a point if the load is steady.
func (p *Report) sampled(ended int64, steady bool) {
	if steady {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.Peak = max(p.Peak, m.Sys-m.HeapReleased)
	if steady {
		p.points = append(p.points, point{ended, m.HeapAlloc})
	}
}

// slope returns the median of the slopes between all pairs of points (Theil and Sen),
// so that a few odd points do not change it.
func slope(points []point) float64 {
	var all []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			if b.ended > a.ended {
				all = append(all, (float64(b.heap)-float64(a.heap))/float64(b.ended-a.ended))
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	if n := len(all); n%2 == 0 {
		return (all[n/2-1] + all[n/2]) / 2
	}
	return all[len(all)/2]
}

// LeastSamples is the least number of samples for a slope.
const LeastSamples = 4

// judge fills in the slope and the problems.
func (p *Report) judge() {
	problem := func(format string, args ...any) { p.Problems = append(p.Problems, fmt.Sprintf(format, args...)) }
	steady := p.points[len(p.points)/2:] // before that, buffers and pools fill up
	if p.Samples = len(steady); p.Samples >= LeastSamples {
		p.Slope = slope(steady)
	}
	if len(p.Stuck) > 0 {
		problem("deadlock: conversations stand still")
		return // goroutines, files and memory belong to those conversations
	}
	if len(p.Wrong) > 0 {
		problem("%d kinds of conversations did not end as expected", len(p.Wrong))
	}
	if d := p.Goroutines[1] - p.Goroutines[0]; d > slack {
		problem("leak: %d goroutines are left over", d)
	}
	if d := p.Files[1] - p.Files[0]; d > slack {
		problem("leak: %d files are left open", d)
	}
	if grown, each, known := p.Growth(); known && grown > leastMemory && each > MaxSlope {
		problem("leak: each conversation of the second half left %.0f bytes behind", each)
	}
	if n := len(steady); n >= LeastSamples && p.Slope > MaxSlope && p.Slope*float64(steady[n-1].ended-steady[0].ended) > leastMemory {
		problem("memory grows: %.0f bytes a conversation under a steady load", p.Slope)
	}
	if p.EndTook > MaxEnd {
		problem("the end took %v after the signal, and its limit is %v", p.EndTook.Round(time.Millisecond), MaxEnd)
	}
}
