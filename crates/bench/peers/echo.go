// The servers of `echo…` in Go: a goroutine for each connection.
//
//	echo LISTENER WORKERS FORM
//
// LISTENER is the number of an open descriptor. A form that begins with `compute` or `yield` has goroutines beside the server, as
// crates/bench/src/served/neighbours.rs describes them. It answers each line of its input by how many bursts or turns these have had, and
// ends with its input.
package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	burst    = 20 * time.Millisecond
	rest     = 20 * time.Millisecond
	yielding = 100
	steps    = 150_000
)

var done atomic.Uint64

// Not inlined, and of a value that the compiler does not know.
//
//go:noinline
func compute(steps uint64) uint64 {
	x := uint64(1)
	for i := uint64(0); i < steps; i++ {
		x = bits.RotateLeft64((x^i)*0x9e37_79b9_7f4a_7c15, 17)
	}
	return x
}

func computing(phase time.Duration) {
	right := compute(steps)
	time.Sleep(phase)
	for {
		for begin := time.Now(); time.Since(begin) < burst; {
			if compute(steps) != right {
				panic("wrong answer of a computation")
			}
		}
		done.Add(1)
		time.Sleep(rest)
	}
}

func serve(connection net.Conn) {
	defer connection.Close()
	var bytes [256]byte
	for {
		n, err := connection.Read(bytes[:])
		if err != nil {
			return
		}
		if _, err = connection.Write(bytes[:n]); err != nil {
			return
		}
	}
}

func accept(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	workers := number(os.Args[2])
	runtime.GOMAXPROCS(workers)
	listener, err := net.FileListener(os.NewFile(uintptr(number(os.Args[1])), "listener"))
	if err != nil {
		panic(err)
	}
	go accept(listener)
	switch form := os.Args[3]; {
	case strings.HasPrefix(form, "compute"):
		for i := range workers {
			go computing((burst + rest) * time.Duration(i) / time.Duration(workers))
		}
	case strings.HasPrefix(form, "yield"):
		for range yielding {
			go func() {
				for {
					done.Add(1)
					runtime.Gosched()
				}
			}()
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(done.Load())
	}
}
