-- For wrk: requests the given path; at /v1/jobs, submits jobs, each for an entity of its own.
-- Prints the errors in one line.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("name", threads)
end

function init()
  count = 0
end

function request()
  if wrk.path ~= "/v1/jobs" then return wrk.format() end
  count = count + 1
  local body = string.format(
    '{"customer": "wrk", "product": "dns", "action": "create", ' ..
    '"entity": {"type": "zone", "id": "%d-%d"}, "services": ["demo"]}', name, count)
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, body)
end

function done(summary)
  local errors = summary.errors
  io.write(string.format("requests=%d connect=%d read=%d write=%d status=%d timeout=%d\n",
    summary.requests, errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
