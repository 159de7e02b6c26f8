package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A crew is the goroutines of a workload; the first failure ends it.
type crew struct {
	group  sync.WaitGroup
	mutex  sync.Mutex
	failed error
	over   chan struct{}
	ended  bool
}

func newCrew() *crew { return &crew{over: make(chan struct{})} }

func (c *crew) start(work func() error) {
	c.group.Add(1)
	go func() {
		defer c.group.Done()
		if err := work(); err != nil {
			c.end(err)
		}
	}()
}

// end keeps the first reason; what fails afterwards fails because its connection was closed.
func (c *crew) end(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.ended {
		c.ended, c.failed = true, err
		close(c.over)
	}
}

func (c *crew) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

var errCut = errors.New("cut")

// A feed hands out the numbers of messages to be sent, batch by batch.
type feed struct {
	next  atomic.Int64
	total int
}

func (f *feed) take(batch int) []int {
	end := int(f.next.Add(int64(batch)))
	numbers := make([]int, 0, batch)
	for number := end - batch; number < min(end, f.total); number++ {
		numbers = append(numbers, number)
	}
	return numbers
}

func senders(peer Peer, count int) ([]Sender, error) {
	made := make([]Sender, 0, count)
	for range count {
		sender, err := peer.Sender()
		if err != nil {
			return made, err
		}
		made = append(made, sender)
	}
	return made, nil
}

func receivers(peer Peer, count, batch int) ([]Receiver, error) {
	made := make([]Receiver, 0, count)
	for range count {
		receiver, err := peer.Receiver(batch)
		if err != nil {
			return made, err
		}
		made = append(made, receiver)
	}
	return made, nil
}

func closeAll[T interface{ Close() }](all []T) {
	for _, each := range all {
		each.Close()
	}
}

// sendAll starts the senders; the times are those of single requests.
func sendAll(crew *crew, made []Sender, source *feed, batch int, cut time.Time) []times {
	spent := make([]times, len(made))
	for at, sender := range made {
		crew.start(func() error {
			for time.Now().Before(cut) && !crew.isOver() {
				numbers := source.take(batch)
				if len(numbers) == 0 {
					return nil
				}
				began := time.Now()
				if err := sender.Send(numbers); err != nil {
					return err
				}
				spent[at].since(began)
			}
			return nil
		})
	}
	return spent
}

func sendOnly(task Task, peer Peer) (Result, error) {
	made, err := senders(peer, task.Senders)
	defer closeAll(made)
	if err != nil {
		return Result{}, err
	}
	crew, source := newCrew(), &feed{total: task.Messages}
	watch := stopwatch{server: task.ServerPID}
	watch.start()
	spent := sendAll(crew, made, source, task.Batch, task.deadline())
	crew.group.Wait()
	watch.stop()
	result := watch.result(min(task.Messages, int(source.next.Load())))
	result.Cut = result.Messages < task.Messages
	result.latencies(join(spent))
	return result, crew.failed
}

// lifecycle sends and receives at once until every message that was sent is settled.
func lifecycle(task Task, peer Peer) (Result, error) {
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
	crew, source, seen := newCrew(), &feed{total: task.Messages}, newTally(task.Messages)
	watch := stopwatch{server: task.ServerPID}
	cut := task.deadline()
	watch.start()
	timer := time.AfterFunc(time.Until(cut), func() { crew.end(errCut) })
	defer timer.Stop()
	for _, receiver := range receiving {
		crew.start(func() error { return settleUntilOver(crew, receiver, seen, task.Messages) })
	}
	spent := sendAll(crew, sending, source, task.Batch, cut)
	<-crew.over
	settled := seen.count()
	if crew.failed == nil {
		err = flushAll(receiving, 0)
	}
	watch.stop()
	result := watch.result(settled)
	closeAll(receiving)
	closeAll(sending)
	crew.group.Wait()
	result.latencies(join(spent))
	result.Duplicates = seen.duplicates
	result.Missing = min(task.Messages, int(source.next.Load())) - settled
	if errors.Is(crew.failed, errCut) {
		result.Cut = true
		return result, nil
	}
	return result, errors.Join(crew.failed, err)
}

func settleUntilOver(crew *crew, receiver Receiver, seen *tally, messages int) error {
	for !crew.isOver() {
		found, err := receiver.Receive(pollWait)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		if err := receiver.Settle(found); err != nil {
			return err
		}
		if seen.add(found) == messages {
			crew.end(nil)
		}
	}
	return nil
}

func flushAll(all []Receiver, left int) error {
	var err error
	for _, receiver := range all {
		err = errors.Join(err, receiver.Flush(left))
	}
	return err
}
