// A typical Node client: fetch with its defaults.
//
// usage: node client.mjs BASE_URL; exits with 0 if every check passes, else prints the failed
// check.
import assert from 'node:assert/strict';

const base = process.argv[2];

const job = (id) => JSON.stringify({
  customer: 'acme', product: 'dns', action: 'create', entity: {type: 'zone', id}, services: ['demo'],
});

const post = (body, headers = {}) => fetch(`${base}/v1/jobs`, {
  method: 'POST', body, headers: {'Content-Type': 'application/json', ...headers},
});

async function sendsManyRequests() {
  for (let i = 0; i < 50; ++i) {
    const alive = await fetch(`${base}/livez`);
    assert.equal(alive.status, 200);
    assert.equal((await alive.json()).status, 'ok');
    const accepted = await post(job(`node-${i}`));
    assert.equal(accepted.status, 202);
    assert.match(accepted.headers.get('location'), /^\/v1\/jobs\//);
    await accepted.json();
  }
}

async function waitsForAJob() {
  const ended = await post(job('node-wait'), {Prefer: 'wait=20'});
  assert.equal(ended.status, 200);
  assert.equal((await ended.json()).state, 'succeeded');
}

async function sendsConcurrently() {
  const answers = await Promise.all(Array.from({length: 50}, (_, i) => post(job(`node-many-${i}`))));
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
  const ids = await Promise.all(answers.map(async (answer) => (await answer.json()).id));
  assert.equal(new Set(ids).size, 50);
}

async function readsRefusals() {
  const wrong = await post('{"customer": 7}');
  assert.equal(wrong.status, 422);
  assert.equal(wrong.headers.get('content-type'), 'application/problem+json');
  assert.ok((await wrong.json()).errors.length > 1);
  for (let i = 0; i < 5; ++i) {
    const large = await post(' '.repeat((1 << 20) + 1));
    assert.equal(large.status, 413);
    assert.equal((await large.json()).type, '/problems/content-too-large');
  }
}

async function followsEvents() {
  const leaving = new AbortController();
  const stream = await fetch(`${base}/v1/events?customer=acme`, {signal: leaving.signal});
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  await (await post(job('node-followed'))).json();
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of stream.body) {
    text += decoder.decode(piece, {stream: true});
    const lines = text.split('\n').filter((line) => line.startsWith('data:'));
    if (lines.some((line) => line.includes('node-followed') && line.endsWith('}') &&
                  JSON.parse(line.slice(5)).state === 'succeeded')) break;
  }
  assert.ok(text.includes('event: job.state'));
  leaving.abort();
}

await sendsManyRequests();
await waitsForAJob();
await sendsConcurrently();
await readsRefusals();
await followsEvents();
process.exit(0);
