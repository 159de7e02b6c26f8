package main

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitPeer is a quorum queue. Messages are pushed, at most a batch ahead; a settle is an
// acknowledgement that the server does not answer, so a flush asks it something on each channel.
type rabbitPeer struct {
	task Task
	line *rabbitLine
}

func newRabbit(task Task) (Peer, error) {
	line, err := openRabbit(task)
	return &rabbitPeer{task, line}, err
}

func (p *rabbitPeer) Create() error {
	options := amqp.Table{"x-queue-type": "quorum"}
	_, err := p.line.channel.QueueDeclare(p.task.Queue, true, false, false, false, options)
	return err
}

func (p *rabbitPeer) Remove() error {
	_, err := p.line.channel.QueueDelete(p.task.Queue, false, false, false)
	return err
}

func (p *rabbitPeer) Close() { p.line.Close() }

func (p *rabbitPeer) Sender() (Sender, error) {
	line, err := openRabbit(p.task)
	if err != nil {
		return nil, err
	}
	return line, line.channel.Confirm(false)
}

func (p *rabbitPeer) Receiver(batch int) (Receiver, error) {
	line, err := openRabbit(p.task)
	if err != nil {
		return nil, err
	}
	line.batch = batch
	err = line.channel.Qos(batch, 0, false)
	if err != nil {
		return nil, err
	}
	line.coming, err = line.channel.Consume(p.task.Queue, "", false, false, false, false, nil)
	return &rabbitReceiver{line}, err
}

type rabbitLine struct {
	task    Task
	conn    *amqp.Connection
	channel *amqp.Channel
	coming  <-chan amqp.Delivery
	batch   int
}

func openRabbit(task Task) (*rabbitLine, error) {
	conn, err := amqp.Dial("amqp://guest:guest@" + task.Address + "/")
	if err != nil {
		return nil, err
	}
	channel, err := conn.Channel()
	return &rabbitLine{task: task, conn: conn, channel: channel}, err
}

func (l *rabbitLine) Send(numbers []int) error {
	confirms := make([]*amqp.DeferredConfirmation, 0, len(numbers))
	for _, number := range numbers {
		message := amqp.Publishing{
			DeliveryMode: amqp.Persistent,
			Body:         appendBody(nil, number),
		}
		confirm, err := l.channel.PublishWithDeferredConfirm(
			"", l.task.Queue, false, false, message)
		if err != nil {
			return err
		}
		confirms = append(confirms, confirm)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	for _, confirm := range confirms {
		taken, err := confirm.WaitContext(ctx)
		if err != nil {
			return err
		}
		if !taken {
			return errPartly
		}
	}
	return nil
}

func (l *rabbitLine) Close() { l.conn.Close() }

// A rabbitReceiver does not send: its channel is not in confirm mode.
type rabbitReceiver struct{ line *rabbitLine }

func (r *rabbitReceiver) Receive(wait time.Duration) ([]Message, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var messages []Message
	select {
	case <-timer.C:
		return nil, nil
	case first, open := <-r.line.coming:
		if !open {
			return nil, amqp.ErrClosed
		}
		message, err := rabbitMessage(first)
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	for len(messages) < r.line.batch {
		select {
		case next, open := <-r.line.coming:
			if !open {
				return messages, nil
			}
			message, err := rabbitMessage(next)
			if err != nil {
				return nil, err
			}
			messages = append(messages, message)
		default:
			return messages, nil
		}
	}
	return messages, nil
}

func rabbitMessage(delivery amqp.Delivery) (Message, error) {
	number, err := numberOf(delivery.Body)
	return Message{number, delivery.DeliveryTag}, err
}

// Settle acknowledges up to the last tag, which covers the others: one goroutine uses a channel.
func (r *rabbitReceiver) Settle(messages []Message) error {
	if len(messages) == 0 {
		return errors.New("nothing to settle")
	}
	return r.line.channel.Ack(messages[len(messages)-1].receipt.(uint64), true)
}

func (r *rabbitReceiver) Flush(int) error { return r.line.channel.Qos(r.line.batch, 0, false) }

func (r *rabbitReceiver) Close() { r.line.Close() }
