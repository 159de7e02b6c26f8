package main

import "time"

const (
	parkedMin    = 10 * time.Millisecond
	parkedFactor = 3
)

// wake measures, in turn, an ordinary receive of a message that is there, and one that waits
// for a message sent after it was parked: from the send's answer to the receive's answer.
func wake(task Task, peer Peer) (Result, error) {
	pair := pair{}
	defer func() { pair.close() }()
	var err error
	if pair.receiver, err = peer.Receiver(1); err != nil {
		return Result{}, err
	}
	if pair.sender, err = peer.Sender(); err != nil {
		return Result{}, err
	}
	watch := stopwatch{server: task.ServerPID}
	cut := task.deadline()
	var ordinary, woken, fromStart times
	watch.start()
	for number := 0; number < task.Messages && time.Now().Before(cut); number++ {
		spent, err := pair.ordinary(2 * number)
		if err != nil {
			return Result{}, err
		}
		ordinary = append(ordinary, spent)
		parked := max(parkedMin, parkedFactor*spent)
		after, whole, err := pair.woken(2*number+1, parked)
		if err != nil {
			return Result{}, err
		}
		woken, fromStart = append(woken, after), append(fromStart, whole)
	}
	err = pair.receiver.Flush(0)
	watch.stop()
	result := watch.result(len(woken))
	result.Cut = len(woken) < task.Messages
	result.latencies(woken)
	result.ReceiveP50 = quantile(ordinary, half)
	result.FromSendStart = quantile(fromStart, half)
	return result, err
}

func (p pair) ordinary(number int) (time.Duration, error) {
	if err := p.sender.Send([]int{number}); err != nil {
		return 0, err
	}
	began := time.Now()
	found, err := p.one(number)
	spent := time.Since(began)
	if err != nil {
		return 0, err
	}
	return spent, p.receiver.Settle(found)
}

type answer struct {
	found []Message
	at    time.Time
	err   error
}

// woken returns the time from the send's answer, which may be below zero, and from its start.
func (p pair) woken(number int, parked time.Duration) (after, whole time.Duration, err error) {
	answered := make(chan answer, 1)
	go func() {
		found, err := p.one(number)
		answered <- answer{found, time.Now(), err}
	}()
	time.Sleep(parked)
	began := time.Now()
	err = p.sender.Send([]int{number})
	sent := time.Now()
	if err != nil {
		return 0, 0, err
	}
	received := <-answered
	if received.err != nil {
		return 0, 0, received.err
	}
	return received.at.Sub(sent), received.at.Sub(began), p.receiver.Settle(received.found)
}
