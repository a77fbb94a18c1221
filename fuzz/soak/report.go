package soak

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// A Report says what came of a run.
type Report struct {
	Over          Over          `json:"over"`
	Conversations int           `json:"conversations"` // at work at once
	Ended         int           `json:"ended"`         // conversations in all
	Turns         int           `json:"turns"`
	Requests      int           `json:"requests"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Conversation  Quantiles     `json:"conversation"`
	Request       Quantiles     `json:"request"`

	Peak       uint64  `json:"peak_bytes"` // of memory that the program has from the system
	HeapBefore uint64  `json:"heap_before_bytes"`
	HeapAfter  uint64  `json:"heap_after_bytes"` // both after a collection
	Slope      float64 `json:"slope_bytes"`      // of the heap under a steady load, a conversation that has ended
	Samples    int     `json:"samples"`          // that the slope is made of, below LeastSamples there is none
	GCShare    float64 `json:"gc_share"`         // of the processor's time
	Goroutines [2]int  `json:"goroutines"`       // before and after
	Files      [2]int  `json:"files"`            // open files before and after; -1 = not measured

	Interrupted bool          `json:"interrupted,omitempty"`
	Cancelled   int           `json:"cancelled,omitempty"`   // conversations that the interruption ended
	EndTook     time.Duration `json:"end_took_ns,omitempty"` // from the interruption to the last end

	Stuck    []string `json:"stuck,omitempty"`    // the last inputs of conversations that stood still
	Wrong    []string `json:"wrong,omitempty"`    // ends that were not the expected ones, and how many
	Problems []string `json:"problems,omitempty"` // why the verdict is not a pass

	points []point
}

// Passed reports whether nothing speaks against the run.
func (p *Report) Passed() bool { return len(p.Problems) == 0 }

// Quantiles are those of durations, to one per cent.
type Quantiles struct {
	P50 time.Duration `json:"p50_ns"`
	P95 time.Duration `json:"p95_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// A sample is what a process uses.
type sample struct {
	goroutines, files int
	heap              uint64
	gc, cpu           float64 // seconds
}

// take collects garbage and looks.
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

// settleTime is how long goroutines and connections may take to end that were
// told to.
const settleTime = 5 * time.Second

// settle takes a sample once what was begun since before has ended.
func (s *sample) settle(before sample, patience time.Duration) {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s.take()
		if s.goroutines <= before.goroutines+slack && s.files <= before.files+slack || time.Now().After(end) {
			return
		}
	}
}

// openFiles counts the files that the process has open, -1 where the system does
// not say.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// A point is the heap when so many conversations had ended.
type point struct {
	ended int64
	heap  uint64
}

// sampled looks at memory, and keeps the point if the load is steady.
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

// slope is the median of the slopes between all pairs of points (Theil and Sen):
// a few odd points do not move it.
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

// LeastSamples is how many samples make a slope.
const LeastSamples = 4

// judge says what speaks against the run.
func (p *Report) judge() {
	problem := func(format string, args ...any) { p.Problems = append(p.Problems, fmt.Sprintf(format, args...)) }
	steady := p.points[len(p.points)/2:] // before that, buffers and pools fill up
	if p.Samples = len(steady); p.Samples >= LeastSamples {
		p.Slope = slope(steady)
	}
	if len(p.Stuck) > 0 {
		problem("deadlock: conversations stand still")
		return // what else is left over is theirs
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
	grown := float64(p.HeapAfter) - float64(p.HeapBefore)
	if p.Ended > 0 && grown > leastMemory && grown/float64(p.Ended) > MaxSlope {
		problem("leak: each conversation left %.0f bytes behind", grown/float64(p.Ended))
	}
	if n := len(steady); n >= LeastSamples && p.Slope > MaxSlope && p.Slope*float64(steady[n-1].ended-steady[0].ended) > leastMemory {
		problem("memory grows: %.0f bytes a conversation under a steady load", p.Slope)
	}
	if p.EndTook > MaxEnd {
		problem("the end took %v once the signal had come, and may take %v", p.EndTook.Round(time.Millisecond), MaxEnd)
	}
}
