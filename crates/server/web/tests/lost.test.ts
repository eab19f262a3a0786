// Words and results that must not be lost, whatever else happens at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import type { Answer } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';
import { answered, busy, channel, held, never, offline, part, storage, waits } from './stages.ts';

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

test('a model is told of a result of the page that could not be sent', async () => {
  const told: unknown[] = [];
  const { chat } = chatWith(
    (_method, _path, body) => {
      const { result, isError } = body as { result?: unknown; isError?: boolean };
      told.push([result, isError]);
      if (!isError) {
        throw result === 1n ? new TypeError('a BigInt is no JSON') : new Failure('the result is too large', 400, 'invalid');
      }
      return {};
    },
    async function* () {},
  );
  await chat.deliver('c', 1n, false, 's');
  await chat.deliver('d', 'long', false, 's');
  assert.deepEqual(told, [[1n, false], ['TypeError: a BigInt is no JSON', true], ['long', false], ['Error: the result is too large', true]]);
  assert.equal(chat.problem, undefined);
  // Somebody who answers by hand is told, and says something else.
  await chat.reply('e', 'long');
  assert.deepEqual([told.length, chat.problem], [5, 'the result is too large']);
});

test('a question that did not arrive waits where the session is looked at again, and what stands there stays', async () => {
  const { chat, heard, all, server } = await answered();
  const ids = chat.messages.map(({ id }) => id);
  server.isDown = true;
  await chat.send('Mine.');
  all.push({ role: 'user', id: 'u2', parts: part('Theirs.') }, { role: 'assistant', id: 'a2', runId: 'r2', parts: part('It was.') });
  heard('s');
  await turn();
  assert.deepEqual(chat.messages.slice(0, 2).map(({ id }) => id), ids);
  // It may be on its way still: it is said by hand alone.
  assert.deepEqual([chat.questions.map(({ text }) => text), waits(chat)], [['first', 'Theirs.'], ['Mine.']]);
  await chat.interject(chat.queue[0]?.id ?? 0);
  assert.deepEqual(chat.questions.map(({ text }) => text), ['first', 'Theirs.', 'Mine.']);
  // It has arrived after all: it is not said twice.
  all.push({ role: 'user', id: 'u3', parts: part('Mine.') }, { role: 'assistant', id: 'a3', runId: 'r3', parts: part('It will be.') });
  heard('s');
  await turn();
  assert.deepEqual([chat.questions.map(({ text }) => text), waits(chat)], [['first', 'Theirs.', 'Mine.'], []]);
});

test('after a question that did not arrive another one is written anew at its own place', async () => {
  let isDown = false;
  const bodies: unknown[] = [];
  const messages = ['first', 'third'].flatMap((text) => [{ role: 'user', id: `of ${text}`, parts: part(text) }, { role: 'assistant', id: `a ${text}`, parts: part('It is.') }]);
  const { chat } = chatWith(
    (method, path, body) => {
      if (isDown) {
        throw offline();
      }
      path.endsWith('/fork') && bodies.push(body);
      return path.endsWith('/fork') ? { id: 'fork' } : method === 'POST' ? { runId: 'r' } : { messages, sessions: bodies.length > 0 ? [{ id: 'fork', runs: 1, forkedFrom: { session: 's', questions: 1 } }] : [] };
    },
    async function* () {
      yield { type: 'finished', reason: 'answer' };
    },
  );
  chat.session = 's';
  await chat.send('first');
  isDown = true;
  await chat.send('second');
  isDown = false;
  await chat.send('third');
  const third = chat.questions[2];
  assert.ok(third && (await chat.edit(third, 'fourth')));
  assert.deepEqual(bodies, [{ before: 'of third' }]);
  assert.deepEqual(chat.origins.fork, { session: 's', at: 1 });
  assert.deepEqual(chat.versionsOf(chat.questions.at(-1) as never), { all: ['s', 'fork'], at: 1 });
});

test('a version that failed to be made says so, and its stopped answer comes to its end', async () => {
  let tell: (event: object) => void = () => undefined;
  const { chat } = chatWith(
    (method, path) => {
      if (path.endsWith('/fork')) {
        throw offline();
      }
      if (path.endsWith('/cancel')) {
        tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' } });
      }
      return method === 'POST' ? { runId: 'r' } : { messages: [{ role: 'user', id: 'u', parts: part('first') }], sessions: [] };
    },
    async function* (_path, signal) {
      yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
    },
  );
  chat.session = 's';
  void chat.send('first');
  await turn();
  assert.equal(await chat.edit(chat.questions[0] as never, 'once more'), false);
  await turn();
  assert.deepEqual([chat.session, chat.last?.state], ['s', 'stopped']);
});

test('a version that is made for nobody is deleted, and hides no conversation', async () => {
  let isForking = false;
  const { chat, asked, waiting } = held((asked) => isForking && asked === 'POST /v1/sessions/one/fork', (asked) => ({ messages: [{ role: 'user', id: 'u', parts: part(asked) }], runs: [], sessions: [] }));
  await chat.open('one');
  isForking = true;
  const edited = chat.edit(chat.questions[0] as never, 'once more');
  await turn();
  await chat.open('two');
  waiting[0]?.settle({ id: 'fork' });
  assert.equal(await edited, false);
  assert.deepEqual(chat.origins, {});
  assert.ok(asked.includes('DELETE /v1/sessions/fork'));
});

test('a refusal that comes late says nothing that waits in another conversation', async () => {
  storage();
  let isLooking = false;
  const { chat, asked, waiting } = held((asked) => isLooking && asked === 'GET /v1/sessions/one', (asked) => {
    if (asked.endsWith('/one/runs')) {
      isLooking = true;
      throw busy();
    }
    return { messages: [{ role: 'user', id: 'u', parts: part('Two.') }], runs: [], sessions: [] };
  });
  chat.session = 'one';
  void chat.send('Mine.');
  await turn();
  await chat.open('two');
  chat.queue = [{ id: 1, text: 'Waits.', documents: [] }];
  waiting[0]?.settle({ messages: [], runs: [] });
  await turn();
  assert.deepEqual([waits(chat), asked.filter((each) => each.endsWith('Waits.'))], [['Waits.'], []]);
});

test('a question for which a key is needed is said with the key, also after the page was loaded again', async () => {
  storage();
  globalThis.sessionStorage.setItem('attache.https://server.example  queue.', JSON.stringify([{ id: 1, text: 'First.', documents: [] }]));
  const { chat, asked } = held(() => false, (asked) => (asked.startsWith('POST') ? { runId: 'r' } : { sessions: [] }));
  Object.assign(chat.client, { headers: {} });
  await chat.useKey('key');
  await turn();
  assert.equal(asked.filter((each) => each.endsWith('/runs First.')).length, 1);
  chat.close();
});

test('a result of the page is sent again where the server has too many requests, or asks for a key', async () => {
  define('addEventListener', (type: string, act: () => void) => type === 'online' && setImmediate(act));
  const failures = [new Failure('', 429, 'rate_limited'), new Failure('', 401, 'unauthorized')];
  const { chat, asked } = chatWith(
    () => {
      const failure = failures.shift();
      if (failure) {
        throw failure;
      }
      return {};
    },
    async function* () {},
  );
  Object.assign(chat.client, { headers: {} });
  const delivered = chat.deliver('c', 1, false, 's');
  await turn();
  await turn();
  // Nobody asks without the key.
  assert.deepEqual([asked.length, chat.needsKey], [2, 'none']);
  await chat.useKey('key');
  await delivered;
  assert.deepEqual([asked.filter((each) => each.endsWith('/tool-result')).length, chat.problem], [3, undefined]);
  define('addEventListener', () => undefined);
});

test('what waits is said where the decision and the end of the run are seen late', async () => {
  const heard = channel();
  const approvals = [{ approvalId: 'p', callId: 'c', name: 'pay', arguments: {} }];
  const messages = [{ role: 'user', id: 'u', parts: part('Theirs.') }, { role: 'assistant', id: 'a', parts: [{ type: 'call', callId: 'c', name: 'pay', arguments: {} }] }];
  let isOpen = true;
  const { chat, asked } = held(() => false, (asked) =>
    asked.startsWith('POST') ? { runId: 'r2' } : { messages, sessions: [], ...(isOpen ? { runs: [{ id: 'r' }], openRun: 'r', approvals } : { runs: [{ id: 'r', ended: 5 }] }) });
  define('window', {});
  await chat.open('s');
  chat.queue = [{ id: 1, text: 'Mine.', documents: [] }];
  isOpen = false;
  heard('s');
  await turn();
  assert.equal(asked.filter((each) => each.endsWith('/runs Mine.')).length, 1);
  chat.close();
});
