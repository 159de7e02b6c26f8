// Load is the one client of all contestants of bench/peers.
//
// It reads what to do as JSON from standard input, so that no key shows in the list of processes,
// drives one workload against one queue, and prints what it measured as JSON. It starts no server
// and decides no sizes: that is the driver's part.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Task is one workload against one queue of one peer.
type Task struct {
	Protocol   string  `json:"protocol"`
	Address    string  `json:"address"`
	KeyID      string  `json:"key_id"`
	Secret     string  `json:"secret"`
	Region     string  `json:"region"`
	ServerPID  int     `json:"server_pid"`
	Queue      string  `json:"queue"`
	Workload   string  `json:"workload"`
	Messages   int     `json:"messages"`
	Backlog    int     `json:"backlog"`
	First      int     `json:"first"`
	Held       int     `json:"held"`
	Batch      int     `json:"batch"`
	Receive    int     `json:"receive"`
	Senders    int     `json:"senders"`
	Receivers  int     `json:"receivers"`
	SecondsMax float64 `json:"seconds_max"`
	FillMax    float64 `json:"fill_seconds_max"`
	Keep       bool    `json:"keep"`
}

func after(seconds float64) time.Time {
	return time.Now().Add(time.Duration(seconds * float64(time.Second)))
}

func (t Task) deadline() time.Time { return after(t.SecondsMax) }

// Result is what the driver writes down. Times are of one request, or as the workload says.
type Result struct {
	Messages      int     `json:"messages"`
	Seconds       float64 `json:"seconds"`
	ServerCPU     float64 `json:"server_cpu_seconds"`
	ClientCPU     float64 `json:"client_cpu_seconds"`
	MemoryBytes   int64   `json:"memory_bytes"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	ReceiveP50    float64 `json:"receive_p50_ms"`
	FromSendStart float64 `json:"from_send_start_p50_ms"`
	Sent          int     `json:"sent"`
	Backlog       int     `json:"backlog"`
	Duplicates    int     `json:"duplicates"`
	Missing       int     `json:"missing"`
	Cut           bool    `json:"cut"`
}

type workload func(Task, Peer) (Result, error)

var workloads = map[string]workload{
	"send":      sendOnly,
	"lifecycle": lifecycle,
	"latency":   latency,
	"wake":      wake,
	"drain":     drain,
}

const (
	collectAtPercent = 400
	// spareTime is for connecting, creating and removing; after it the process ends itself.
	spareTime = 60 * time.Second
)

func main() {
	debug.SetGCPercent(collectAtPercent)
	result, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() (Result, error) {
	var task Task
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		return Result{}, err
	}
	work, known := workloads[task.Workload]
	if !known {
		return Result{}, fmt.Errorf("no workload %q", task.Workload)
	}
	limit := time.Duration((task.SecondsMax + task.FillMax) * float64(time.Second))
	time.AfterFunc(limit+spareTime, func() {
		fmt.Fprintln(os.Stderr, "load: not done in time")
		os.Exit(1)
	})
	peer, err := connect(task)
	if err != nil {
		return Result{}, err
	}
	defer peer.Close()
	if err := peer.Create(); err != nil {
		return Result{}, err
	}
	result, err := work(task, peer)
	if err != nil {
		return result, err
	}
	if !task.Keep {
		err = peer.Remove()
	}
	return result, err
}
