package main

import (
	"sync/atomic"
	"time"
)

const (
	chunk     = 1000
	drainWait = time.Second
)

// drain receives and settles chunk by chunk while the backlog stays at its level or above it:
// before each chunk the queue is topped up, and that is not timed. Backlog in the result is the
// level that was reached within the time for filling.
func drain(task Task, peer Peer) (Result, error) {
	sending, err := senders(peer, task.Senders)
	defer closeAll(sending)
	if err != nil {
		return Result{}, err
	}
	receiving, err := receivers(peer, task.Receivers, task.Receive)
	defer closeAll(receiving)
	if err != nil {
		return Result{}, err
	}
	level := &level{held: task.Held, first: task.First, next: task.First}
	watch := stopwatch{server: task.ServerPID}
	seen := newTally(task.First + task.Backlog + task.Messages + chunk)
	step := min(chunk, task.Messages)
	if err := level.fill(sending, task.Batch, task.Backlog+step, after(task.FillMax)); err != nil {
		return Result{}, err
	}
	reached := max(0, level.held-step)
	var spent times
	cut := task.deadline()
	drained := 0
	for drained < task.Messages && time.Now().Before(cut) {
		if err := level.fill(sending, task.Batch, reached+step, cut); err != nil {
			return Result{}, err
		}
		watch.start()
		taken, parts, err := take(receiving, seen, min(step, level.held), cut)
		level.held -= taken
		if err == nil {
			err = flushAll(receiving, level.held)
		}
		watch.stop()
		if err != nil {
			return Result{}, err
		}
		drained += taken
		spent = append(spent, parts...)
	}
	result := watch.result(drained)
	result.latencies(spent)
	result.Backlog = reached
	result.Sent = level.next - level.first
	result.Duplicates = seen.duplicates
	result.Cut = drained < task.Messages
	return result, nil
}

// A level is how many messages a queue holds, as far as this client knows.
type level struct {
	held  int
	first int
	next  int
}

func (l *level) fill(made []Sender, batch, wanted int, cut time.Time) error {
	missing := wanted - l.held
	if missing <= 0 {
		return nil
	}
	crew, source := newCrew(), &feed{total: l.next + missing}
	source.next.Store(int64(l.next))
	sendAll(crew, made, source, batch, cut)
	crew.group.Wait()
	sent := min(source.total, int(source.next.Load())) - l.next
	l.next += sent
	l.held += sent
	return crew.failed
}

// take settles at least count messages, or what it can until the cut; the times are of one
// receive with its settle.
func take(made []Receiver, seen *tally, count int, cut time.Time) (int, times, error) {
	crew := newCrew()
	var settled atomic.Int64
	spent := make([]times, len(made))
	for at, receiver := range made {
		crew.start(func() error {
			for settled.Load() < int64(count) && time.Now().Before(cut) && !crew.isOver() {
				began := time.Now()
				found, err := receiver.Receive(drainWait)
				if err != nil {
					return err
				}
				if len(found) == 0 {
					continue
				}
				if err := receiver.Settle(found); err != nil {
					return err
				}
				seen.add(found)
				settled.Add(int64(len(found)))
				spent[at].since(began)
			}
			return nil
		})
	}
	crew.group.Wait()
	return int(settled.Load()), join(spent), crew.failed
}
