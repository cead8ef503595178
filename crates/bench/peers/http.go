// The server of `http` in Go, by its own net/http: a goroutine for each connection.
//
//	http LISTENER WORKERS FORM
//
// LISTENER is the number of an open descriptor. The answer to a request is its path. The program ends with its input.
package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	runtime.GOMAXPROCS(number(os.Args[2]))
	listener, err := net.FileListener(os.NewFile(uintptr(number(os.Args[1])), "listener"))
	if err != nil {
		panic(err)
	}
	answer := func(to http.ResponseWriter, request *http.Request) {
		io.WriteString(to, request.URL.Path)
	}
	go func() {
		panic(http.Serve(listener, http.HandlerFunc(answer)))
	}()
	io.Copy(io.Discard, os.Stdin)
}
