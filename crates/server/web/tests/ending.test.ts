import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { follow } from '../src/state/follow.ts';
import type { Answer } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';
import { never, part, waits } from './stages.ts';

/** A chat whose runs end as the test says: `end` tells the last event of the run under way. */
function stage() {
  let tell: (event: object) => void = () => undefined;
  let runs = 0;
  const stage = chatWith(
    (method, path) => {
      if (path.endsWith('/cancel')) {
        tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' } });
      }
      return method === 'POST' && path.endsWith('/runs') ? { runId: `r${(runs += 1)}` } : { sessions: [] };
    },
    async function* (_path, signal) {
      yield { type: 'text', step: 0, delta: 'It is ' };
      yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
    },
  );
  return { ...stage, end: (event: object) => (tell(event), turn()) };
}

test('a reader who does not see the page hears the end of each answer', async () => {
  const { chat, end } = stage();
  const finished = { type: 'finished', reason: 'answer' };
  for (const text of ['first', 'second']) {
    void chat.send(text);
    // The words of the last answer are gone: the same words once more would be no news.
    assert.equal(chat.announced, '', text);
    await turn();
    assert.equal(chat.announced, '', text);
    await end(finished);
    assert.equal(chat.announced, 'The answer is there.', text);
  }
});

test('an answer that was stopped, failed or interrupted is not said to be there', async () => {
  const { chat, end } = stage();
  void chat.send('stop');
  await turn();
  await chat.stop();
  await turn();
  assert.equal(chat.announced, 'Stopped');
  void chat.send('interrupt');
  await turn();
  await end({ type: 'interrupted', reason: 'failed' });
  assert.equal(chat.announced, 'The server stopped before the answer was done.');
  void chat.send('fail');
  await turn();
  await end({ type: 'failed', error: { message: 'overloaded' } });
  assert.equal(chat.announced, 'The answer failed');
});

test('the end of an answer is heard, too, where a question waits behind it', async () => {
  const { chat, end } = stage();
  for (const text of ['first', 'second']) {
    void chat.send(text);
    await turn();
  }
  assert.equal(chat.queue.length, 1);
  const heard: string[] = [];
  for (const text of ['first', 'second']) {
    await end({ type: 'finished', reason: 'answer' });
    assert.equal(chat.announced.trim(), 'The answer is there.', text);
    heard.push(chat.announced);
  }
  assert.equal(chat.queue.length, 0);
  // A reader tells only what has changed.
  assert.notEqual(heard[0], heard[1]);
});

test('a chat that is closed looks at no run any more, and goes on once it is on a page again', async () => {
  const channels: { isClosed: boolean }[] = [];
  class Channel extends EventTarget {
    isClosed = false;
    constructor() {
      super();
      channels.push(this);
    }
    postMessage() {}
    close() {
      this.isClosed = true;
    }
  }
  const listeners = new Set<AbortSignal>();
  define('window', { BroadcastChannel: Channel });
  define('BroadcastChannel', Channel);
  define('addEventListener', (_type: string, _act: unknown, { signal }: { signal?: AbortSignal } = {}) => signal && listeners.add(signal));
  const { chat, asked, signals } = stage();
  void chat.send('hello');
  await turn();
  assert.equal(signals[0]?.aborted, false);
  chat.close();
  await turn();
  assert.equal(signals[0]?.aborted, true);
  assert.deepEqual(channels.map((channel) => channel.isClosed), [true]);
  assert.ok(listeners.size > 0 && [...listeners].every((signal) => signal.aborted));
  const before = asked.length;
  // An answer that comes too late makes it look at nothing.
  await chat.resume();
  await turn();
  assert.equal(signals.length, 1);
  assert.deepEqual(asked.slice(before), ['POST /v1/runs/r1/resume']);
  assert.ok(chat.wake());
  assert.ok(!chat.wake());
  void chat.resume();
  await turn();
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, false]);
  assert.deepEqual(channels.map((channel) => channel.isClosed), [true, false]);
  chat.close();
  define('window', {});
  define('addEventListener', () => undefined);
});

test('a run is followed behind the end of the server that drove it', async () => {
  // The network is back at once whenever somebody waits for it.
  define('addEventListener', (_type: string, act: () => void) => setImmediate(act));
  const drives = [
    [{ type: 'text', step: 0, delta: 'It is ' }, { type: 'interrupted', reason: 'stopping' }],
    [],
    [{ type: 'snapshot', state: 'interrupted', end: { type: 'interrupted', reason: 'stopping' } }],
    [{ type: 'snapshot', state: 'running', end: null }, { type: 'finished', reason: 'answer' }],
  ];
  const looks: (string | undefined)[] = [];
  const client = {
    async *stream(_path: string, after: string | undefined) {
      looks.push(after);
      const at = looks.length - 1;
      yield* (drives[at] ?? []).map((event, each) => ({ id: `${at}.${each}`, data: JSON.stringify(event) }));
    },
  };
  const heard: unknown[] = [];
  const end = await follow(client as never, 'r', {
    event: (value) => heard.push((value as { type: string }).type),
    lost: () => undefined,
    signal: new AbortController().signal,
  });
  assert.equal(end, 'ended');
  assert.deepEqual(heard, ['text', 'interrupted', 'snapshot', 'snapshot', 'finished']);
  assert.deepEqual(looks, [undefined, '0.1', '0.1', '2.0']);
  define('addEventListener', () => undefined);
});

test('a run that goes on at another server is under way meanwhile', async () => {
  define('addEventListener', (_type: string, act: () => void) => setImmediate(act));
  let looks = 0;
  let finish: () => void = () => undefined;
  const { chat, asked } = chatWith(
    (method, path) => (method === 'POST' && path.endsWith('/runs') ? { runId: 'r' } : { sessions: [] }),
    async function* (_path, signal) {
      looks += 1;
      if (looks === 1) {
        yield { type: 'text', step: 0, delta: 'It is ' };
        yield { type: 'interrupted', reason: 'stopping' };
      } else {
        yield { type: 'snapshot', state: 'interrupted', step: 0, blocks: [], end: { type: 'interrupted', reason: 'stopping' } };
        await Promise.race([new Promise<void>((end) => (finish = end)), never(signal)]);
        yield { type: 'finished', reason: 'answer' };
      }
    },
  );
  void chat.send('first');
  // A busy machine takes its time.
  for (let at = 0; looks < 2 && at < 200; at += 1) {
    await turn();
  }
  assert.equal(looks, 2);
  assert.equal(chat.announced, '');
  assert.ok(chat.isRunning);
  void chat.send('second');
  await turn();
  assert.deepEqual(chat.queue.map((each) => each.text), ['second']);
  assert.equal(asked.filter((each) => each.includes('second')).length, 0);
  finish();
  await turn();
  assert.equal(chat.queue.length, 0);
  assert.equal(asked.filter((each) => each.endsWith('/runs second')).length, 1);
  chat.close();
  define('addEventListener', () => undefined);
});

test('questions that wait are there where their session is opened again, and only there', async () => {
  const { chat } = stage();
  for (const text of ['first', 'second']) {
    void chat.send(text);
    await turn();
  }
  await chat.open(chat.session);
  assert.deepEqual(chat.queue.map((each) => each.text), ['second']);
  await chat.open('other');
  assert.deepEqual(chat.queue, []);
});

test('questions that wait are said once the answer before them is there, and not in another conversation', async () => {
  const said: string[] = [];
  let messages: object[] | undefined;
  const { chat } = chatWith(
    (method, path, body) => {
      if (method === 'POST') {
        said.push(body?.message ?? '');
        return { runId: 'r' };
      }
      if (path.includes('/sessions/') && !messages) {
        throw new Failure('gone', 404, 'not_found');
      }
      return path.includes('/sessions/') ? { messages, runs: [{ id: 'r', ended: 5 }] } : { sessions: [] };
    },
    async function* (_path, signal) {
      yield await never(signal);
    },
  );
  const wait = async () => {
    for (const text of ['first', 'second']) {
      void chat.send(text);
      await turn();
    }
    assert.equal(chat.queue.length, 1);
  };
  await wait();
  await chat.open(chat.session);
  assert.deepEqual([chat.session, chat.queue.length], ['', 0]);
  await wait();
  messages = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', parts: part('It is so.') }];
  await chat.open(chat.session);
  await turn();
  assert.deepEqual([said.at(-1), chat.queue.length], ['second', 0]);
});

test('a failure stays until whoever met it answers again, whatever the page answers by itself', async () => {
  const { chat } = stage();
  [chat.session, chat.problem] = ['s', 'The answer is not one of the schema.'];
  await chat.deliver('c', 1, false, 'other');
  await chat.deliver('d', 1, false, 's');
  assert.equal(chat.problem, 'The answer is not one of the schema.');
  await chat.reply('question', 1);
  assert.equal(chat.problem, undefined);
});

test('a run whose driver failed has ended for whoever looks on', async () => {
  const client = {
    async *stream() {
      yield { id: '1', data: JSON.stringify({ type: 'interrupted', reason: 'failed' }) };
      assert.fail('it is looked at once more');
    },
  };
  const signal = new AbortController().signal;
  assert.equal(await follow(client as never, 'r', { event: () => undefined, lost: () => undefined, signal }), 'ended');
});

test('an answer of long ago tells what its model saw, in each step as that is stored', async () => {
  const routed = (name: string, outcome: string) => ({ document_id: name, file_name: name, media_type: 'application/pdf', outcome, reason: 'r', bytes: 1, tokens: 7 });
  const routing = [
    { step: 0, messageId: 'a', decisions: [routed('a.pdf', 'native')], tokens: 7 },
    { step: 2, messageId: 'b', decisions: [routed('a.pdf', 'text'), routed('b.pdf', 'native')], tokens: 14 },
  ];
  const { chat } = chatWith(
    (_method, path) =>
      path.includes('/runs/')
        ? { runId: 'r', snapshot: { type: 'snapshot', step: 3, routing: routing[1]?.decisions, end: { type: 'finished', reason: 'answer' } }, routing }
        : {
            sessionId: 's',
            // The newest answers have their ends from the beginning.
            messages: ['r', 'later', 'still', 'last'].flatMap((runId) => [
              { role: 'user', id: `${runId}-u`, parts: part('Read.') },
              { role: 'assistant', id: runId, runId, parts: part('Read.') },
            ]),
            runs: ['r', 'later', 'still', 'last'].map((id) => ({ id, ended: 5 })),
          },
    async function* () {},
  );
  await chat.open('s');
  const answer = () => chat.messages[1] as Answer;
  assert.deepEqual(answer().sights, []);
  assert.equal((chat.messages.at(-1) as Answer).sights.length, 2);
  await chat.complete(answer().id);
  const seen = answer().sights.map((sight) => [sight.step, sight.decisions.map((each) => `${each.fileName} ${each.outcome}`), sight.tokens]);
  assert.deepEqual(seen, [[0, ['a.pdf native'], 7], [2, ['a.pdf text', 'b.pdf native'], 14]]);
});

test('the end of a run that was spoken to meanwhile is told once, at its last words', async () => {
  const figures = [{ text: '1,310', state: 'unsupported', inAnswer: { start: 0, end: 2 } }];
  const { chat } = chatWith(
    (_method, path) =>
      path.includes('/runs/')
        ? { runId: 'r', outcome: { runId: 'r', reason: 'answer', usage: { input_tokens: 9, output_tokens: 1 }, figures } }
        : {
            messages: [
              { role: 'user', id: 'u', parts: part('Read.') },
              { role: 'assistant', id: 'a', runId: 'r', parts: part('I read.') },
              { role: 'user', id: 'v', isAside: true, parts: part('Also the annex.') },
              { role: 'assistant', id: 'b', runId: 'r', parts: part('It is so.') },
            ],
            runs: [{ id: 'r', ended: 5 }],
          },
    async function* () {},
  );
  await chat.open('s');
  const answers = chat.messages.filter((message) => message.role === 'assistant');
  answers.forEach(({ id }) => void chat.complete(id));
  await turn();
  const told = () => chat.messages.flatMap((message) => (message.role === 'assistant' ? [[message.tokens?.input, message.unsupported.length]] : []));
  assert.deepEqual(told(), [[undefined, 0], [9, 1]]);
});

test('questions that waited when the answer was stopped are said before one that is typed later', async () => {
  const { chat, end } = stage();
  for (const text of ['first', 'second', 'third']) {
    void chat.send(text);
    await turn();
  }
  assert.ok(chat.isOpen);
  await chat.stop();
  await turn();
  assert.deepEqual([chat.isOpen, waits(chat)], [false, ['second', 'third']]);
  void chat.send('fourth');
  await turn();
  for (const text of ['second', 'third', 'fourth']) {
    assert.equal(chat.questions.at(-1)?.text, text);
    await end({ type: 'finished', reason: 'answer' });
  }
  assert.deepEqual(chat.queue, []);
});
