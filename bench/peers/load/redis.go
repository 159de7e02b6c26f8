package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	redisGroup    = "workers"
	redisConsumer = "worker"
)

// redisPeer is a stream with one consumer group; a settle is XACK and XDEL, both answered.
type redisPeer struct {
	task Task
	line *redisLine
}

func newRedis(task Task) (Peer, error) {
	line, err := openRedis(task)
	return &redisPeer{task, line}, err
}

func (p *redisPeer) Create() error {
	_, err := p.line.ask("XGROUP", "CREATE", p.task.Queue, redisGroup, "0", "MKSTREAM")
	if err != nil && strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return nil
	}
	return err
}

func (p *redisPeer) Remove() error {
	_, err := p.line.ask("DEL", p.task.Queue)
	return err
}

func (p *redisPeer) Close() { p.line.Close() }

func (p *redisPeer) Sender() (Sender, error) { return openRedis(p.task) }

func (p *redisPeer) Receiver(batch int) (Receiver, error) {
	line, err := openRedis(p.task)
	if err == nil {
		line.batch = batch
	}
	return line, err
}

type redisLine struct {
	task   Task
	conn   net.Conn
	reader *bufio.Reader
	out    []byte
	batch  int
}

func openRedis(task Task) (*redisLine, error) {
	conn, err := net.Dial("tcp", task.Address)
	if err != nil {
		return nil, err
	}
	return &redisLine{task: task, conn: conn, reader: bufio.NewReaderSize(conn, readBytes)}, nil
}

func (l *redisLine) add(words ...string) {
	l.out = append(strconv.AppendInt(append(l.out, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		l.out = append(strconv.AppendInt(append(l.out, '$'), int64(len(word)), 10), "\r\n"...)
		l.out = append(append(l.out, word...), "\r\n"...)
	}
}

// flush sends what was added in one write and reads that many answers; it returns the last.
func (l *redisLine) flush(answers int) (any, error) {
	_, err := l.conn.Write(l.out)
	l.out = l.out[:0]
	var last any
	for range answers {
		if err != nil {
			return nil, err
		}
		last, err = l.read()
	}
	return last, err
}

func (l *redisLine) ask(words ...string) (any, error) {
	l.add(words...)
	return l.flush(1)
}

// read returns an answer as []byte, int, []any or nil; an error of the server is an error.
func (l *redisLine) read() (any, error) {
	line, err := l.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < len("+\r\n") {
		return nil, fmt.Errorf("no answer of Redis: %q", line)
	}
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return []byte(text), nil
	case '-':
		return nil, errors.New(text)
	case ':':
		return strconv.Atoi(text)
	}
	length, err := strconv.Atoi(text)
	if err != nil || length < 0 {
		return nil, err
	}
	if kind == '$' {
		body := make([]byte, length+len("\r\n"))
		_, err := io.ReadFull(l.reader, body)
		return body[:length], err
	}
	items := make([]any, length)
	for at := range items {
		if items[at], err = l.read(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (l *redisLine) Send(numbers []int) error {
	for _, number := range numbers {
		l.add("XADD", l.task.Queue, "*", "body", string(appendBody(nil, number)))
	}
	_, err := l.flush(len(numbers))
	return err
}

func (l *redisLine) Receive(wait time.Duration) ([]Message, error) {
	answer, err := l.ask("XREADGROUP", "GROUP", redisGroup, redisConsumer,
		"COUNT", strconv.Itoa(l.batch), "BLOCK", strconv.FormatInt(wait.Milliseconds(), 10),
		"STREAMS", l.task.Queue, ">")
	if err != nil || answer == nil {
		return nil, err
	}
	// One stream was asked for: [[name, [[id, [field, value]], ...]]].
	entries := answer.([]any)[0].([]any)[1].([]any)
	messages := make([]Message, 0, len(entries))
	for _, each := range entries {
		entry := each.([]any)
		number, err := numberOf(entry[1].([]any)[1].([]byte))
		if err != nil {
			return nil, err
		}
		messages = append(messages, Message{number, string(entry[0].([]byte))})
	}
	return messages, nil
}

func (l *redisLine) Settle(messages []Message) error {
	acknowledge := []string{"XACK", l.task.Queue, redisGroup}
	remove := []string{"XDEL", l.task.Queue}
	for _, each := range messages {
		acknowledge = append(acknowledge, each.receipt.(string))
		remove = append(remove, each.receipt.(string))
	}
	l.add(acknowledge...)
	l.add(remove...)
	removed, err := l.flush(2)
	if err == nil && removed != len(messages) {
		return errPartly
	}
	return err
}

func (l *redisLine) Flush(int) error { return nil }

func (l *redisLine) Close() { l.conn.Close() }
