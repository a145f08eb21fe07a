// The producers and workers of one load on BullMQ, for bench_peers. Prints its figures as JSON.
//
//   clients.mjs idle PORT SECONDS               {"us": N}: from adding a job until a worker has it
//   clients.mjs run PORT CONNECTIONS SECONDS    {"rate": N}: jobs added and ended, per second
//   clients.mjs keep PORT CONNECTIONS SECONDS   {"rate": N, "us": N}: jobs added, and how long one takes
//
// The producers share this process, each with a connection of its own. The workers share another
// one, which this program starts as `clients.mjs work PORT COUNT`.
import {fork} from "node:child_process"
import {randomUUID} from "node:crypto"
import {setTimeout as sleep} from "node:timers/promises"
import {Queue, Worker} from "bullmq"
import Redis from "ioredis"

const idle_interval_ms = 20
const workers_in_load = 16

// The same clock in all processes.
const now_us = () => Number(process.hrtime.bigint()) / 1000
const connect = (port) => new Redis({host: "127.0.0.1", port, maxRetriesPerRequest: null})
  .on("error", (error) => { throw error })
const median = (values) => values.sort((one, other) => one - other)[values.length >> 1]

// About 200 bytes, like the jobs of the other peers, each for another entity.
const next_job = () => ({
  customer: "acme", product: "dns", action: "create",
  entity: {type: "zone", id: `${randomUUID().slice(0, 16)}.test`},
  services: ["zones"], parameters: {ttl: 300, primary: "ns1.provider.test"},
})
const add = (queue) => queue.add("job", next_job(), {removeOnComplete: true})

class Workers {
  taken = []
  ended = []
  #changed = () => {}

  static async start(port, count) {
    const workers = new Workers()
    const child = fork(process.argv[1], ["work", port, count])
    child.on("exit", (code) => process.exit(code || 1))
    await new Promise((ready) => child.on("message", ({event, at_us}) => {
      if (event === "ready") return ready()
      workers[event].push(at_us)
      workers.#changed()
    }))
    return workers
  }

  // Waits for the count-th job that was taken or has ended, and returns when that was.
  async await_event(event, count) {
    const timeout = setTimeout(() => { throw new Error("the workers stand still") }, 120_000)
    while (this[event].length < count) await new Promise((changed) => { this.#changed = changed })
    clearTimeout(timeout)
    return this[event][count - 1]
  }
}

async function work(port, count) {
  const send = (event) => process.send({event, at_us: now_us()})
  const worker = new Worker("jobs", async () => send("taken"),
    {connection: connect(port), concurrency: count})
  worker.on("completed", () => send("ended"))
  worker.on("error", (error) => { throw error })
  process.on("disconnect", () => process.exit(1))
  await worker.waitUntilReady()
  send("ready")
}

async function idle(port, seconds) {
  const workers = await Workers.start(port, 1)
  const queue = new Queue("jobs", {connection: connect(port)})
  const times_us = []
  const begin_us = now_us()
  for (let count = 1; count <= Math.max(1, seconds * 1000 / idle_interval_ms); ++count) {
    await sleep(Math.max(0, (begin_us + count * idle_interval_ms * 1000 - now_us()) / 1000))
    const added_us = now_us()
    await add(queue)
    times_us.push(await workers.await_event("taken", count) - added_us)
  }
  await workers.await_event("ended", times_us.length)
  return {us: median(times_us)}
}

// Adds jobs over each connection for so many seconds.
async function add_jobs(name, port, connections, seconds) {
  const queues = Array.from({length: connections}, () => new Queue(name, {connection: connect(port)}))
  await Promise.all(queues.map((queue) => queue.waitUntilReady()))
  const latencies_us = []
  const begin_us = now_us()
  let end_us = begin_us
  await Promise.all(queues.map(async (queue) => {
    for (let now = begin_us; now < begin_us + seconds * 1e6;) {
      await add(queue)
      end_us = now_us()
      latencies_us.push(end_us - now)
      now = end_us
    }
  }))
  return {latencies_us, begin_us, end_us}
}

async function run(port, connections, seconds) {
  const workers = await Workers.start(port, workers_in_load)
  const {latencies_us, begin_us, end_us} = await add_jobs("jobs", port, connections, seconds)
  const ended_us = await workers.await_event("ended", latencies_us.length)
  return {rate: latencies_us.length * 1e6 / (Math.max(end_us, ended_us) - begin_us)}
}

async function keep(port, connections, seconds) {
  const {latencies_us, begin_us, end_us} = await add_jobs("kept", port, connections, seconds)
  return {rate: latencies_us.length * 1e6 / (end_us - begin_us), us: median(latencies_us)}
}

const [what, port, ...numbers] = process.argv.slice(2)
const figures = await {idle, run, keep, work}[what](Number(port), ...numbers.map(Number))
if (figures) {
  console.log(JSON.stringify(figures))
  process.exit()
}
