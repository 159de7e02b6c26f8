package main

import (
	"slices"
	"sync"
	"time"
)

// A tally tells which messages came out, and how often too much.
type tally struct {
	mutex      sync.Mutex
	seen       []uint64
	distinct   int
	duplicates int
}

const wordBits = 64

func newTally(messages int) *tally {
	return &tally{seen: make([]uint64, messages/wordBits+1)}
}

// add returns how many different messages have come out by now.
func (t *tally) add(messages []Message) int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, each := range messages {
		word, bit := each.Number/wordBits, uint64(1)<<(each.Number%wordBits)
		if word >= len(t.seen) || t.seen[word]&bit != 0 {
			t.duplicates++
			continue
		}
		t.seen[word] |= bit
		t.distinct++
	}
	return t.distinct
}

func (t *tally) count() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.distinct
}

// times of one goroutine; joined at the end.
type times []time.Duration

func (t *times) since(began time.Time) {
	*t = append(*t, time.Since(began))
}

const (
	half         = 0.5
	ninetyNine   = 0.99
	milliseconds = float64(time.Millisecond)
)

func quantile(all times, share float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return float64(sorted[int(share*float64(len(sorted)-1))]) / milliseconds
}

func join(parts []times) times {
	var all times
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func (r *Result) latencies(all times) {
	r.P50, r.P99 = quantile(all, half), quantile(all, ninetyNine)
}
