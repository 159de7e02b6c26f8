package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	natsTimeout = 30 * time.Second
	natsConsume = "workers"
	flushPause  = time.Millisecond
)

// natsPeer is a stream of work-queue retention on file with one pull consumer. A settle is an
// acknowledgement that the server does not answer, so a flush waits for an empty stream.
type natsPeer struct {
	task   Task
	conn   *nats.Conn
	stream jetstream.Stream
}

func newNATS(task Task) (Peer, error) {
	conn, err := nats.Connect("nats://" + task.Address)
	return &natsPeer{task: task, conn: conn}, err
}

func natsContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), natsTimeout)
}

func (p *natsPeer) Create() error {
	ctx, cancel := natsContext()
	defer cancel()
	js, err := jetstream.New(p.conn)
	if err != nil {
		return err
	}
	p.stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:      p.task.Queue,
		Subjects:  []string{p.task.Queue},
		Retention: jetstream.WorkQueuePolicy,
		Storage:   jetstream.FileStorage,
	})
	if err != nil {
		return err
	}
	_, err = p.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:   natsConsume,
		AckPolicy: jetstream.AckExplicitPolicy,
		AckWait:   leaseSeconds * time.Second,
	})
	return err
}

func (p *natsPeer) Remove() error {
	ctx, cancel := natsContext()
	defer cancel()
	js, err := jetstream.New(p.conn)
	if err != nil {
		return err
	}
	return js.DeleteStream(ctx, p.task.Queue)
}

func (p *natsPeer) Close() { p.conn.Close() }

func (p *natsPeer) open() (*natsLine, error) {
	conn, err := nats.Connect("nats://" + p.task.Address)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	living, end := context.WithCancel(context.Background())
	return &natsLine{peer: p, conn: conn, js: js, living: living, end: end}, err
}

func (p *natsPeer) Sender() (Sender, error) { return p.open() }

func (p *natsPeer) Receiver(batch int) (Receiver, error) {
	line, err := p.open()
	if err != nil {
		return nil, err
	}
	line.batch = batch
	ctx, cancel := natsContext()
	defer cancel()
	line.consumer, err = line.js.Consumer(ctx, p.task.Queue, natsConsume)
	return line, err
}

type natsLine struct {
	peer     *natsPeer
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
	batch    int
	coming   <-chan jetstream.Msg
	fetched  jetstream.MessageBatch
	fetchEnd context.CancelFunc
	living   context.Context
	end      context.CancelFunc
	body     []byte
}

func (l *natsLine) Send(numbers []int) error {
	if len(numbers) == 1 {
		ctx, cancel := natsContext()
		defer cancel()
		l.body = appendBody(l.body[:0], numbers[0])
		_, err := l.js.Publish(ctx, l.peer.task.Queue, l.body)
		return err
	}
	acks := make([]jetstream.PubAckFuture, 0, len(numbers))
	for _, number := range numbers {
		ack, err := l.js.PublishAsync(l.peer.task.Queue, appendBody(nil, number))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-l.living.Done():
			return nats.ErrConnectionClosed
		}
	}
	return nil
}

// Receive asks for a batch and hands out what has come of it; the server goes on to fill it.
func (l *natsLine) Receive(wait time.Duration) ([]Message, error) {
	if l.coming == nil {
		var ctx context.Context
		var err error
		ctx, l.fetchEnd = context.WithTimeout(l.living, wait)
		l.fetched, err = l.consumer.Fetch(l.batch, jetstream.FetchContext(ctx))
		if err != nil {
			return nil, err
		}
		l.coming = l.fetched.Messages()
	}
	first, open := <-l.coming
	if !open {
		l.ended()
		if err := l.fetched.Error(); !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		return nil, nil
	}
	messages := []Message{}
	for each := first; open; {
		number, err := numberOf(each.Data())
		if err != nil {
			return nil, err
		}
		messages = append(messages, Message{number, each})
		select {
		case each, open = <-l.coming:
			if !open {
				l.ended()
			}
		default:
			open = false
		}
	}
	return messages, nil
}

func (l *natsLine) ended() {
	l.coming = nil
	l.fetchEnd()
}

func (l *natsLine) Settle(messages []Message) error {
	var err error
	for _, each := range messages {
		err = errors.Join(err, each.receipt.(jetstream.Msg).Ack())
	}
	return err
}

func (l *natsLine) Flush(left int) error {
	if err := l.conn.Flush(); err != nil {
		return err
	}
	ctx, cancel := natsContext()
	defer cancel()
	for {
		info, err := l.peer.stream.Info(ctx)
		if err != nil || info.State.Msgs <= uint64(left) {
			return err
		}
		time.Sleep(flushPause)
	}
}

// Close ends a fetch and leaves its connection to the end of the process: the library's fetch
// spins when its connection is closed under it.
func (l *natsLine) Close() {
	l.end()
	if l.consumer == nil {
		l.conn.Close()
	}
}
