package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// The clock of a whole process, all its threads, ended ones included: CPUCLOCK_SCHED of its id.
const (
	processClock = 2
	ticksPerSec  = 100
)

func processCPU(pid int) time.Duration {
	var at syscall.Timespec
	clock := uintptr(^pid<<3 | processClock)
	_, _, failed := syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)), 0)
	if failed != 0 {
		return 0
	}
	return time.Duration(at.Nano())
}

// status returns the parent of a process and the CPU of its children that have ended.
func status(pid int) (parent int, ended time.Duration, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything; what follows it is fixed.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, err = strconv.Atoi(fields[1])
	if err != nil {
		return 0, 0, err
	}
	user, _ := strconv.Atoi(fields[13])
	system, _ := strconv.Atoi(fields[14])
	return parent, time.Duration(user+system) * time.Second / ticksPerSec, nil
}

type process struct {
	pid   int
	ended time.Duration
}

// tree lists a process and all that descend from it.
func tree(root int) []process {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	children := map[int][]process{}
	var found []process
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		parent, ended, err := status(pid)
		if err != nil {
			continue
		}
		if pid == root {
			found = append(found, process{pid, ended})
		}
		children[parent] = append(children[parent], process{pid, ended})
	}
	for at := 0; at < len(found); at++ {
		found = append(found, children[found[at].pid]...)
	}
	return found
}

func treeCPU(root int) time.Duration {
	var sum time.Duration
	for _, each := range tree(root) {
		sum += processCPU(each.pid) + each.ended
	}
	return sum
}

// treeMemory is the proportional set size: pages shared within the tree count once.
func treeMemory(root int) int64 {
	var sum int64
	for _, each := range tree(root) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(each.pid) + "/smaps_rollup")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if after, found := strings.CutPrefix(line, "Pss:"); found {
				kib, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
				sum += kib << 10
			}
		}
	}
	return sum
}

// A stopwatch adds up time and CPU of server and client over the parts of a workload.
type stopwatch struct {
	server  int
	wall    time.Duration
	cpu     time.Duration
	own     time.Duration
	began   time.Time
	cpuThen time.Duration
	ownThen time.Duration
}

func (s *stopwatch) start() {
	s.cpuThen, s.ownThen = treeCPU(s.server), processCPU(os.Getpid())
	s.began = time.Now()
}

func (s *stopwatch) stop() {
	s.wall += time.Since(s.began)
	s.own += processCPU(os.Getpid()) - s.ownThen
	s.cpu += treeCPU(s.server) - s.cpuThen
}

func (s *stopwatch) result(messages int) Result {
	return Result{
		Messages:    messages,
		Seconds:     s.wall.Seconds(),
		ServerCPU:   s.cpu.Seconds(),
		ClientCPU:   s.own.Seconds(),
		MemoryBytes: treeMemory(s.server),
	}
}
