package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	readBytes     = 64 << 10
	statusOK      = 200
	answerTimeout = 90 * time.Second
	shownBytes    = 300
)

// A wire is one kept-alive HTTP/1.1 connection: one request, then its answer.
type wire struct {
	address string
	mutex   sync.Mutex
	conn    net.Conn
	closed  bool
	reader  *bufio.Reader
	body    []byte
}

func (w *wire) dial() error {
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		conn.Close()
		return net.ErrClosed
	}
	w.conn = conn
	w.reader = bufio.NewReaderSize(conn, readBytes)
	return nil
}

func (w *wire) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	if w.conn != nil {
		w.conn.Close()
	}
}

// exchange returns the body of the answer, valid until the next call.
func (w *wire) exchange(request []byte) ([]byte, error) {
	if w.conn == nil {
		if err := w.dial(); err != nil {
			return nil, err
		}
	}
	w.conn.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := w.conn.Write(request); err != nil {
		return nil, err
	}
	code, head, err := w.head()
	if err != nil {
		return nil, err
	}
	if head.chunked {
		err = w.chunks()
	} else {
		err = w.fixed(head.length)
	}
	if err != nil {
		return nil, err
	}
	if head.last {
		w.mutex.Lock()
		w.conn.Close()
		w.conn = nil
		w.mutex.Unlock()
	}
	if code != statusOK {
		return nil, fmt.Errorf("HTTP %d: %s", code, w.body[:min(len(w.body), shownBytes)])
	}
	return w.body, nil
}

type head struct {
	length  int
	chunked bool
	last    bool
}

func (w *wire) head() (int, head, error) {
	var found head
	line, err := w.reader.ReadSlice('\n')
	if err != nil {
		return 0, found, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, found, fmt.Errorf("no status line: %q", line)
	}
	code, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, found, err
	}
	found.last = line[7] == '0'
	for {
		line, err = w.reader.ReadSlice('\n')
		if err != nil {
			return 0, found, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return code, found, nil
		}
		if err := found.read(line); err != nil {
			return 0, found, err
		}
	}
}

var (
	lengthName   = []byte("content-length")
	encodingName = []byte("transfer-encoding")
	statusName   = []byte("connection")
)

func (h *head) read(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch len(name) {
	case len(lengthName):
		if bytes.EqualFold(name, lengthName) {
			var err error
			h.length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			return err
		}
	case len(encodingName):
		if bytes.EqualFold(name, encodingName) {
			h.chunked = bytes.Contains(bytes.ToLower(value), []byte("chunked"))
		}
	case len(statusName):
		if bytes.EqualFold(name, statusName) {
			h.last = bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
	return nil
}

func (w *wire) fixed(length int) error {
	w.body = grown(w.body[:0], length)
	_, err := io.ReadFull(w.reader, w.body)
	return err
}

func (w *wire) chunks() error {
	w.body = w.body[:0]
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		start := len(w.body)
		w.body = grown(w.body, int(size)+len("\r\n"))
		if _, err := io.ReadFull(w.reader, w.body[start:]); err != nil {
			return err
		}
		w.body = w.body[:start+int(size)]
		if size == 0 {
			return nil
		}
	}
}

func grown(body []byte, by int) []byte {
	if need := len(body) + by; cap(body) < need {
		body = append(make([]byte, 0, 2*need), body...)
	}
	return body[:len(body)+by]
}
