package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Peer is one queue of one server.
type Peer interface {
	// Create makes the queue; one that is there already stays as it is.
	Create() error
	Remove() error
	Sender() (Sender, error)
	// Receiver takes at most batch messages at a time.
	Receiver(batch int) (Receiver, error)
	Close()
}

// A Sender is one connection; Send returns once the server has answered for all of them.
type Sender interface {
	Send(numbers []int) error
	Close()
}

// A Receiver is one connection. Close may be called while Receive waits, which then fails.
type Receiver interface {
	// Receive returns as soon as there is a message, or with none after wait.
	Receive(wait time.Duration) ([]Message, error)
	Settle([]Message) error
	// Flush returns when the server has done the settles that it does not answer, and so holds
	// no more than left messages.
	Flush(left int) error
	Close()
}

// Message is known by the number at the head of its body; receipt is the protocol's own.
type Message struct {
	Number  int
	receipt any
}

const (
	bodyBytes   = 1024
	numberBytes = 12
	pollWait    = 20 * time.Second
)

var errNumber = errors.New("a body that this client did not send")

var filler = func() []byte {
	text := make([]byte, bodyBytes-numberBytes)
	for at := range text {
		text[at] = 'x'
	}
	return text
}()

func appendBody(to []byte, number int) []byte {
	digits := strconv.Itoa(number)
	for range numberBytes - len(digits) {
		to = append(to, '0')
	}
	return append(append(to, digits...), filler...)
}

func numberOf(body []byte) (int, error) {
	if len(body) != bodyBytes {
		return 0, errNumber
	}
	return strconv.Atoi(string(body[:numberBytes]))
}

func connect(task Task) (Peer, error) {
	switch task.Protocol {
	case "sqs":
		return newSQS(task)
	case "nats":
		return newNATS(task)
	case "redis":
		return newRedis(task)
	case "amqp":
		return newRabbit(task)
	case "postgres":
		return newPostgres(task)
	}
	return nil, fmt.Errorf("no protocol %q", task.Protocol)
}
