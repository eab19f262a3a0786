// Words and results that must not be lost, whatever else happens at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import type { Answer } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';

const never = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const part = (text: string) => [{ type: 'text', text }];
const busy = () => new Failure('a run is under way', 409, 'session_busy');

/** Storage of a tab. */
function storage() {
  const held = new Map<string, string>();
  define('sessionStorage', { getItem: (name: string) => held.get(name) ?? null, setItem: (name: string, value: string) => held.set(name, value), removeItem: (name: string) => held.delete(name) });
}

/** A session in which a run of somebody else is under way, until it ends. */
function shared(open: object) {
  let isOpen = true;
  let end: () => void = () => undefined;
  let runs = 0;
  const stage = chatWith(
    (method, path) => {
      if (method === 'POST' && path.endsWith('/runs')) {
        if (isOpen) {
          throw busy();
        }
        return { runId: `own${(runs += 1)}` };
      }
      if (method === 'GET' && path.startsWith('/v1/sessions/')) {
        const messages = [{ role: 'user', id: 'u', parts: part('Theirs.') }, { role: 'assistant', id: 'a', runId: 'r', parts: part('It is') }];
        return { messages, ...(isOpen ? { runs: [{ id: 'r' }], openRun: 'r', ...open } : { runs: [{ id: 'r', ended: 5 }] }) };
      }
      return { sessions: [] };
    },
    async function* (_path, signal) {
      if (isOpen) {
        await Promise.race([new Promise<void>((over) => (end = over)), never(signal)]);
        isOpen = false;
      }
      yield { type: 'finished', reason: 'answer' };
    },
  );
  stage.chat.session = 's';
  const said = () => stage.asked.filter((each) => each.startsWith('POST') && each.includes('/runs')).length;
  return { ...stage, said, end: async () => (end(), await turn(), await turn()) };
}

test('a question that comes beside a run of another tab waits for its end', async () => {
  const { chat, said, end } = shared({});
  void chat.send('Mine.');
  await turn();
  // The other run is seen, and the question is none of the conversation yet.
  assert.deepEqual(chat.questions.map(({ text }) => text), ['Theirs.']);
  assert.deepEqual([chat.isRunning, chat.queue.map(({ text }) => text)], [true, ['Mine.']]);
  await end();
  assert.deepEqual([said(), chat.queue.length, chat.questions.at(-1)?.text], [2, 0, 'Mine.']);
});

test('a question that comes beside an approval leaves that where it is', async () => {
  const { chat, said } = shared({ approvals: [{ approvalId: 'p', callId: 'c', name: 'pay', arguments: {} }] });
  void chat.send('Mine.');
  await turn();
  assert.deepEqual([chat.last?.runId, chat.last?.state], ['r', 'waiting']);
  assert.deepEqual(chat.queue.map(({ text }) => text), ['Mine.']);
  assert.equal(said(), 1);
  chat.close();
});

test('a question that is refused again and again is not said without end', async () => {
  const { chat, asked } = chatWith(
    (method, path) => {
      if (method === 'POST') {
        throw busy();
      }
      return path.startsWith('/v1/sessions/') ? { messages: [], runs: [] } : { sessions: [] };
    },
    async function* () {},
  );
  chat.session = 's';
  void chat.send('Mine.');
  await turn();
  await turn();
  assert.equal(asked.filter((each) => each.startsWith('POST')).length, 2);
  assert.deepEqual(chat.queue.map(({ text }) => text), ['Mine.']);
});

test('other tabs hear of a question once the server has it', async () => {
  const told: unknown[] = [];
  class Channel extends EventTarget {
    postMessage = (message: unknown) => told.push(message);
    close() {}
  }
  define('window', { BroadcastChannel: Channel });
  define('BroadcastChannel', Channel);
  const { chat } = chatWith(() => ({ runId: 'r' }), async function* (_path, signal) {
    yield await never(signal);
  });
  define('window', {});
  chat.session = 's';
  void chat.send('Mine.');
  await turn();
  assert.deepEqual(told, [{ session: 's' }]);
});

test('a first question that did not arrive is asked again', async () => {
  let isDown = true;
  const { chat, asked } = chatWith(
    (method, path) => {
      if (isDown) {
        throw new Failure('', 502, '502');
      }
      if (method === 'GET' && path.startsWith('/v1/sessions/')) {
        throw new Failure('no such session', 404, 'not_found');
      }
      return method === 'POST' ? { runId: 'r' } : { sessions: [] };
    },
    async function* () {
      yield { type: 'finished', reason: 'answer' };
    },
  );
  await chat.send('First.');
  assert.equal(chat.last?.state, 'failed');
  isDown = false;
  await chat.again(chat.last as Answer);
  assert.deepEqual([chat.last?.state, chat.problem], ['done', undefined]);
  assert.deepEqual(chat.questions.map(({ text }) => text), ['First.']);
  assert.match(asked.at(-1) ?? '', /sessions/);
});

test('a first question that the server asked a key for is said with the key', async () => {
  let hasKey = false;
  const { chat, asked } = chatWith(
    (method, path) => {
      if (method === 'POST' && !hasKey) {
        throw new Failure('a key is needed', 401, 'unauthorized');
      }
      assert.ok(!/GET .*sessions\//.test(`${method} ${path}`), 'there is no such session yet');
      return method === 'POST' ? { runId: 'r' } : { sessions: [] };
    },
    async function* () {
      yield { type: 'finished', reason: 'answer' };
    },
  );
  Object.assign(chat.client, { headers: {} });
  await chat.send('First.');
  assert.deepEqual([chat.session, chat.queue.length, chat.needsKey], ['', 1, 'none']);
  hasKey = true;
  await chat.useKey('key');
  await turn();
  assert.deepEqual([chat.queue.length, chat.last?.state], [0, 'done']);
  assert.equal(asked.filter((each) => each.endsWith('/runs First.')).length, 2);
});

test('a run that is stopped before the server has told of it is stopped then', async () => {
  let arrive: (told: object) => void = () => undefined;
  const { chat, asked, signals } = chatWith(
    (method, path) => (method === 'POST' && path.endsWith('/runs') ? new Promise((told) => (arrive = told)) : { sessions: [] }),
    async function* () {},
  );
  void chat.send('First.');
  await turn();
  await chat.stop();
  assert.equal(chat.last?.state, 'stopped');
  arrive({ runId: 'r' });
  await turn();
  assert.ok(asked.includes('POST /v1/runs/r/cancel'), asked.join('\n'));
  assert.equal(signals.length, 0);
  // Whoever only looks elsewhere stops nothing.
  void chat.send('Second.');
  await turn();
  await chat.open('');
  arrive({ runId: 'r2' });
  await turn();
  assert.ok(!asked.includes('POST /v1/runs/r2/cancel'));
});

test('questions that wait are there when somebody comes back from another conversation, and after a new answer', async () => {
  storage();
  let runs = 0;
  const { chat } = chatWith(
    (method, path) => {
      if (path.endsWith('/fork')) {
        return { id: 'fork' };
      }
      return method === 'POST'
        ? { runId: `r${(runs += 1)}` }
        : path.startsWith('/v1/sessions/') && !path.endsWith('other')
          ? { messages: [{ role: 'user', id: 'u', parts: part('first') }], runs: [{ id: 'r1' }], openRun: 'r1' }
          : { messages: [], runs: [], sessions: [] };
    },
    async function* (_path, signal) {
      yield await never(signal);
    },
  );
  void chat.send('first');
  await turn();
  void chat.send('second');
  const { session } = chat;
  await chat.open('other');
  assert.deepEqual(chat.queue, []);
  await chat.open(session);
  assert.deepEqual(chat.queue.map(({ text }) => text), ['second']);
  void chat.again(chat.last as Answer);
  await turn();
  assert.deepEqual([chat.session, chat.queue.map(({ text }) => text)], ['fork', ['second']]);
  chat.close();
});

test('words that a run did not come to read wait again', async () => {
  let tell: (event: object) => void = () => undefined;
  const { chat } = chatWith(
    (method, path) => (method === 'POST' && path.endsWith('/runs') ? { runId: 'r' } : { sessions: [] }),
    async function* (_path, signal) {
      yield { type: 'text', step: 0, delta: 'It is ' };
      yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
    },
  );
  void chat.send('first');
  await turn();
  void chat.send('second');
  await chat.interject(chat.queue[0]?.id ?? 0);
  assert.deepEqual([chat.queue.length, chat.questions.at(-1)?.isAside], [0, true]);
  // Words that another tab said are that one's.
  tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' }, unread: ['second', 'theirs'] });
  await turn();
  assert.deepEqual([chat.queue.map(({ text }) => text), chat.questions.map(({ text }) => text)], [['second'], ['first']]);
});

test('words that could not be said to a run wait again, and those that it did not read before the server answered', async () => {
  for (const isTaken of [false, true]) {
    let tell: (event: object) => void = () => undefined;
    let settle: () => void = () => undefined;
    const { chat } = chatWith(
      (_method, path) => {
        if (path.endsWith('/messages')) {
          return new Promise((told, fail) => (settle = () => (isTaken ? told({}) : fail(new Failure('', 0, 'offline')))));
        }
        return path.endsWith('/runs') ? { runId: 'r' } : { sessions: [] };
      },
      async function* (_path, signal) {
        yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
      },
    );
    void chat.send('first');
    await turn();
    void chat.send('second');
    const said = chat.interject(chat.queue[0]?.id ?? 0);
    if (isTaken) {
      tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' }, unread: ['second'] });
      await turn();
    }
    settle();
    await said;
    assert.deepEqual([chat.queue.map(({ text }) => text), chat.questions.length], [['second'], 1], String(isTaken));
    chat.close();
  }
});

test('a result of the page is sent again once the network is back', async () => {
  // The network is back at once whenever somebody waits for it.
  define('addEventListener', (type: string, act: () => void) => type === 'online' && setImmediate(act));
  let down = 2;
  const { chat, asked } = chatWith(
    () => {
      if ((down -= 1) >= 0) {
        throw new Failure('', 0, 'offline');
      }
      return {};
    },
    async function* () {},
  );
  await chat.deliver('c', 1, false, 's');
  assert.equal(asked.length, 3);
  assert.equal(chat.problem, undefined);
  // Whoever answers by hand is told, and answers again.
  down = 1;
  await chat.reply('q', 1);
  assert.deepEqual([asked.length, chat.problem], [4, 'The server cannot be reached.']);
  define('addEventListener', () => undefined);
});
