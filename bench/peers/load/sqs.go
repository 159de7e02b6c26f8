package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// leaseSeconds is longer than a pass may take, so that slowness alone makes no duplicates.
const leaseSeconds = 300

var errPartly = errors.New("a batch that was done in part only")

type sqsPeer struct {
	task Task
	url  string
	line *sqsLine
}

func newSQS(task Task) (Peer, error) {
	return &sqsPeer{task: task, line: newLine(task)}, nil
}

func (p *sqsPeer) ask(operation string, parameters map[string]any) ([]byte, error) {
	body, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	return p.line.ask(operation, body)
}

func (p *sqsPeer) Create() error {
	answer, err := p.ask("CreateQueue", map[string]any{
		"QueueName":  p.task.Queue,
		"Attributes": map[string]string{"VisibilityTimeout": strconv.Itoa(leaseSeconds)},
	})
	if err != nil {
		return err
	}
	var created struct{ QueueUrl string }
	err = json.Unmarshal(answer, &created)
	p.url = created.QueueUrl
	return err
}

func (p *sqsPeer) Remove() error {
	_, err := p.ask("DeleteQueue", map[string]any{"QueueUrl": p.url})
	return err
}

func (p *sqsPeer) Close() { p.line.wire.close() }

func (p *sqsPeer) open() (*sqsLine, error) {
	line := newLine(p.task)
	url, err := json.Marshal(p.url)
	line.queue = append([]byte(`{"QueueUrl":`), url...)
	return line, errors.Join(err, line.wire.dial())
}

func (p *sqsPeer) Sender() (Sender, error) { return p.open() }

func (p *sqsPeer) Receiver(batch int) (Receiver, error) {
	line, err := p.open()
	line.batch = batch
	return line, err
}

// A sqsLine is one connection with requests about one queue.
type sqsLine struct {
	wire   wire
	signer signer
	queue  []byte
	body   []byte
	batch  int
}

func newLine(task Task) *sqsLine {
	return &sqsLine{wire: wire{address: task.Address}, signer: signer{task: task}}
}

func (l *sqsLine) ask(operation string, body []byte) ([]byte, error) {
	answer, err := l.wire.exchange(l.signer.build("AmazonSQS."+operation, body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	return answer, nil
}

func (l *sqsLine) Send(numbers []int) error {
	if len(numbers) == 1 {
		body := append(append(l.body[:0], l.queue...), `,"MessageBody":"`...)
		l.body = append(appendBody(body, numbers[0]), `"}`...)
		_, err := l.ask("SendMessage", l.body)
		return err
	}
	body := append(append(l.body[:0], l.queue...), `,"Entries":[`...)
	for at, number := range numbers {
		body = appendEntry(body, at)
		body = append(body, `"MessageBody":"`...)
		body = append(appendBody(body, number), `"}`...)
	}
	l.body = append(body, "]}"...)
	return l.askBatch("SendMessageBatch")
}

// appendEntry opens an entry of a batch; what follows completes and closes it.
func appendEntry(body []byte, at int) []byte {
	if at > 0 {
		body = append(body, ',')
	}
	body = append(body, `{"Id":"`...)
	body = strconv.AppendInt(body, int64(at), 10)
	return append(body, `",`...)
}

func (l *sqsLine) askBatch(operation string) error {
	answer, err := l.ask(operation, l.body)
	// An entry of what failed has a code; one of what was done has none.
	if err == nil && bytes.Contains(answer, []byte(`"Code"`)) {
		return fmt.Errorf("%s: %w", operation, errPartly)
	}
	return err
}

func (l *sqsLine) Receive(wait time.Duration) ([]Message, error) {
	body := append(append(l.body[:0], l.queue...), `,"MaxNumberOfMessages":`...)
	body = strconv.AppendInt(body, int64(l.batch), 10)
	body = append(body, `,"WaitTimeSeconds":`...)
	body = strconv.AppendInt(body, int64(wait/time.Second), 10)
	l.body = append(body, '}')
	answer, err := l.ask("ReceiveMessage", l.body)
	if err != nil {
		return nil, err
	}
	return messagesOf(answer)
}

var (
	bodyName    = []byte(`"Body"`)
	receiptName = []byte(`"ReceiptHandle"`)
)

// messagesOf reads the two fields that matter, each in order of the messages: a whole parse of
// ten messages would cost the client more than some servers spend on them.
func messagesOf(answer []byte) ([]Message, error) {
	var messages []Message
	bodies, receipts := answer, answer
	for {
		var body, receipt []byte
		body, bodies = nextString(bodies, bodyName)
		receipt, receipts = nextString(receipts, receiptName)
		if body == nil || receipt == nil {
			return messages, nil
		}
		number, err := numberOf(body)
		if err != nil {
			return nil, err
		}
		messages = append(messages, Message{number, string(receipt)})
	}
}

// nextString returns the next string of that name as it is written, escapes kept, and the rest.
func nextString(text, name []byte) (found, rest []byte) {
	at := bytes.Index(text, name)
	if at < 0 {
		return nil, nil
	}
	text = bytes.TrimLeft(text[at+len(name):], ": \t")
	if len(text) == 0 || text[0] != '"' {
		return nil, nil
	}
	end := 1 + bytes.IndexByte(text[1:], '"')
	for end > 0 && text[end-1] == '\\' {
		// No string here ends in a backslash, so this quote is an escaped one.
		next := bytes.IndexByte(text[end+1:], '"')
		if next < 0 {
			return nil, nil
		}
		end += 1 + next
	}
	if end == 0 {
		return nil, nil
	}
	return text[1:end], text[end+1:]
}

func (l *sqsLine) Settle(messages []Message) error {
	if len(messages) == 1 && l.batch == 1 {
		body := append(append(l.body[:0], l.queue...), `,"ReceiptHandle":"`...)
		l.body = append(append(body, messages[0].receipt.(string)...), `"}`...)
		_, err := l.ask("DeleteMessage", l.body)
		return err
	}
	body := append(append(l.body[:0], l.queue...), `,"Entries":[`...)
	for at, each := range messages {
		body = append(appendEntry(body, at), `"ReceiptHandle":"`...)
		body = append(append(body, each.receipt.(string)...), `"}`...)
	}
	l.body = append(body, "]}"...)
	return l.askBatch("DeleteMessageBatch")
}

func (l *sqsLine) Flush(int) error { return nil }

func (l *sqsLine) Close() { l.wire.close() }
