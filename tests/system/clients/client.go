// A typical Go client: net/http with its defaults.
//
// usage: client BASE_URL; exits with 0 if every check passes, else prints the failed check.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"
)

var base string
var client = &http.Client{Timeout: 60 * time.Second}

func check(good bool, format string, values ...any) {
	if !good {
		fmt.Fprintf(os.Stderr, "go: "+format+"\n", values...)
		os.Exit(1)
	}
}

func job(id string) string {
	return fmt.Sprintf(`{"customer": "acme", "product": "dns", "action": "create",
		"entity": {"type": "zone", "id": %q}, "services": ["demo"]}`, id)
}

// do sends one request. It returns the answer, read to the end, and whether the connection was
// reused.
func do(method, path string, body io.Reader) (*http.Response, []byte, bool) {
	reused := false
	request, err := http.NewRequest(method, base+path, body)
	check(err == nil, "%v", err)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	check(err == nil, "%s %s: %v", method, path, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err == nil, "%s %s: reading the answer: %v", method, path, err)
	return response, text, reused
}

func keepsItsConnection() {
	for i := 0; i < 50; i++ {
		response, _, reused := do("GET", "/livez", nil)
		check(response.StatusCode == 200, "GET /livez: %s", response.Status)
		check(reused == (i > 0), "request %d: reused is %v", i, reused)
		response, _, reused = do("POST", "/v1/jobs", strings.NewReader(job(fmt.Sprint("go-", i))))
		check(response.StatusCode == 202, "POST /v1/jobs: %s", response.Status)
		check(reused, "the connection was not kept")
	}
}

func waitsForAJob() {
	request, _ := http.NewRequest("POST", base+"/v1/jobs", strings.NewReader(job("go-wait")))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "wait=20")
	response, err := client.Do(request)
	check(err == nil, "%v", err)
	var done struct{ State string }
	check(json.NewDecoder(response.Body).Decode(&done) == nil, "not JSON")
	response.Body.Close()
	check(response.StatusCode == 200 && done.State == "succeeded", "%s %s", response.Status, done.State)
}

// A reader of unknown length is sent in chunks.
func sendsChunks() {
	response, text, _ := do("POST", "/v1/jobs", io.MultiReader(strings.NewReader(job("go-chunked"))))
	check(response.StatusCode == 202, "in chunks: %s %s", response.Status, text)
}

func readsRefusalsOfLargeBodies() {
	for i := 0; i < 5; i++ {
		for _, size := range []int{1<<20 + 1, 5 << 20} {
			body := bytes.Repeat([]byte(" "), size)
			for _, reader := range []io.Reader{bytes.NewReader(body), io.MultiReader(bytes.NewReader(body))} {
				response, text, _ := do("POST", "/v1/jobs", reader)
				check(response.StatusCode == 413, "%d bytes: %s", size, response.Status)
				check(response.Header.Get("Content-Type") == "application/problem+json", "no problem")
				check(bytes.Contains(text, []byte("content-too-large")), "%s", text)
			}
		}
	}
}

func sendsConcurrently() {
	var all sync.WaitGroup
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			response, _, _ := do("POST", "/v1/jobs", strings.NewReader(job(fmt.Sprint("go-many-", i))))
			check(response.StatusCode == 202, "at once: %s", response.Status)
		}(i)
	}
	all.Wait()
}

func followsEvents() {
	response, err := client.Get(base + "/v1/events?customer=acme")
	check(err == nil && response.StatusCode == 200, "events: %v", err)
	defer response.Body.Close()
	do("POST", "/v1/jobs", strings.NewReader(job("go-followed")))
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "data:") && strings.Contains(line, "go-followed") &&
			strings.Contains(line, `"state":"succeeded"`) {
			return
		}
	}
	check(false, "the events ended: %v", lines.Err())
}

func main() {
	base = os.Args[1]
	keepsItsConnection()
	waitsForAJob()
	sendsChunks()
	readsRefusalsOfLargeBodies()
	sendsConcurrently()
	followsEvents()
}
