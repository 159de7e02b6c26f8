package main

import (
	"errors"
	"time"
)

var errNothing = errors.New("a message that was sent did not come out")

// latency measures send, receive and delete in turn, one at a time.
func latency(task Task, peer Peer) (Result, error) {
	pair, err := newPair(peer)
	defer pair.close()
	if err != nil {
		return Result{}, err
	}
	watch := stopwatch{server: task.ServerPID}
	cut := task.deadline()
	var cycles, receives times
	watch.start()
	for number := 0; number < task.Messages && time.Now().Before(cut); number++ {
		began := time.Now()
		if err := pair.sender.Send([]int{number}); err != nil {
			return Result{}, err
		}
		asked := time.Now()
		found, err := pair.one(number)
		if err != nil {
			return Result{}, err
		}
		receives.since(asked)
		if err := pair.receiver.Settle(found); err != nil {
			return Result{}, err
		}
		cycles.since(began)
	}
	err = pair.receiver.Flush(0)
	watch.stop()
	result := watch.result(len(cycles))
	result.Cut = len(cycles) < task.Messages
	result.latencies(cycles)
	result.ReceiveP50 = quantile(receives, half)
	return result, err
}

type pair struct {
	sender   Sender
	receiver Receiver
}

// newPair uses one connection for both where the protocol lets it.
func newPair(peer Peer) (pair, error) {
	receiver, err := peer.Receiver(1)
	if err != nil {
		return pair{}, err
	}
	if sender, both := receiver.(Sender); both {
		return pair{sender, receiver}, nil
	}
	sender, err := peer.Sender()
	return pair{sender, receiver}, err
}

func (p pair) close() {
	if p.sender != nil {
		p.sender.Close()
	}
	if p.receiver != nil {
		p.receiver.Close()
	}
}

// one receives the message of that number and nothing else.
func (p pair) one(number int) ([]Message, error) {
	for {
		found, err := p.receiver.Receive(pollWait)
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && found[0].Number == number {
			return found, nil
		}
		if len(found) > 0 {
			return nil, errNothing
		}
	}
}
