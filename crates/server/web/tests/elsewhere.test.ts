// What comes late belongs to the conversation in which it was asked for, and to no other one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import type { Answer, Question } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';
import { channel, held, never, offline, part, storage, waits } from './stages.ts';

/** Two conversations; what is asked of some paths is answered when the test says so. */
function stage(isHeld: (asked: string) => boolean) {
  const held: { asked: string; settle: (told: unknown) => void; fail: (error: unknown) => void }[] = [];
  const told = (path: string) => {
    const id = path.split('/')[3] ?? '';
    return { messages: [{ role: 'user', id: `${id}-u`, parts: part(`Of ${id}.`) }, { role: 'assistant', id: `${id}-a`, runId: `${id}-r`, parts: part(`It is ${id}.`) }], runs: [{ id: `${id}-r`, ended: 5 }], sessions: [] };
  };
  const stage = chatWith(
    (method, path) =>
      isHeld(`${method} ${path}`)
        ? new Promise((settle, fail) => held.push({ asked: `${method} ${path}`, settle, fail }))
        : path.endsWith('/runs') && method === 'POST' ? { runId: 'r' } : told(path),
    async function* () {},
  );
  return { ...stage, held, told };
}
const questions = ({ questions }: { questions: Question[] }) => questions.map(({ text }) => text);

test('a run that goes on somewhere else changes nothing here', async () => {
  const { chat, held, signals } = stage((asked) => asked.endsWith('/resume'));
  await chat.open('one');
  const resumed = chat.resume();
  await chat.open('two');
  held[0]?.settle({});
  await resumed;
  assert.deepEqual([questions(chat), chat.last?.state, signals.length], [['Of two.'], 'done', 0]);
});

for (const at of ['GET /v1/sessions/one', 'POST /v1/sessions/one/fork']) {
  test(`a question that is written anew is said in its own conversation (${at})`, async () => {
    let isHeld = false;
    const { chat, held, told, asked } = stage((asked) => isHeld && asked === at);
    await chat.open('one');
    isHeld = true;
    const edited = chat.edit(chat.questions[0] as Question, 'Once more.');
    await turn();
    await chat.open('two');
    held[0]?.settle(at.endsWith('fork') ? { id: 'fork' } : told('/v1/sessions/one'));
    await edited;
    assert.deepEqual([chat.session, questions(chat)], ['two', ['Of two.']]);
    assert.ok(!asked.some((each) => each.endsWith('Once more.')));
  });
}

test('words that come while a question is written anew are said behind it', async () => {
  let isHeld = false;
  const { chat, held, asked } = stage((asked) => isHeld && asked.endsWith('/fork'));
  await chat.open('one');
  isHeld = true;
  void chat.edit(chat.questions[0] as Question, 'Once more.');
  await turn();
  await chat.send('And this.');
  assert.deepEqual(chat.queue.map(({ text }) => text), ['And this.']);
  held[0]?.settle({ id: 'fork' });
  await turn();
  assert.deepEqual(asked.filter((each) => each.includes('/runs ')), ['POST /v1/sessions/fork/runs Once more.']);
  chat.close();
});

test('words that go to a run stay with its conversation', async () => {
  const { chat, held } = stage((asked) => asked.endsWith('/messages'));
  await chat.open('one');
  chat.messages = [...chat.messages.slice(0, -1), { ...(chat.last as Answer), state: 'running' }];
  Object.assign(chat, { following: new AbortController() });
  await chat.send('Also this.');
  const said = chat.interject(chat.queue[0]?.id ?? 0);
  await chat.open('');
  held[0]?.settle({});
  await said;
  assert.deepEqual([chat.messages, chat.problem], [[], undefined]);
});

test('a question in a conversation that is gone waits in a new one, and begins none by itself', async () => {
  for (const isLeft of [false, true]) {
    storage();
    let isGone = false;
    let refuse: (error: unknown) => void = () => assert.fail('nothing was asked');
    const { chat } = chatWith(
      (method, path, body) => {
        if (method === 'POST') {
          assert.ok(body?.mustExist, 'the server would begin it anew');
          return new Promise((_, fail) => (refuse = fail));
        }
        if (isGone && path.endsWith('/one')) {
          throw new Failure('no such session', 404, 'not_found');
        }
        return { messages: [{ role: 'user', id: 'u', parts: part('First.') }, { role: 'assistant', id: 'a', parts: part('It is.') }], runs: [], sessions: [] };
      },
      async function* () {},
    );
    await chat.open('one');
    isGone = true;
    const sent = chat.send('Second.');
    await turn();
    isLeft && (await chat.open('two'));
    refuse(new Failure('no such session', 404, 'not_found'));
    await sent;
    assert.deepEqual([chat.session, chat.problem], isLeft ? ['two', undefined] : ['', 'This chat is not there any more.']);
    isLeft && (await chat.open(''));
    assert.deepEqual([chat.messages.length, waits(chat), chat.queue[0]?.isHeld], [0, ['Second.'], true]);
    chat.close();
  }
});

test('a conversation that another tab has deleted is gone here, too', async () => {
  const heard = channel();
  let isGone = false;
  const { chat } = held(() => false, () => {
    if (isGone) {
      throw new Failure('no such session', 404, 'not_found');
    }
    return { messages: [{ role: 'user', id: 'u', parts: part('First.') }], runs: [], sessions: [] };
  });
  define('window', {});
  await chat.open('one');
  isGone = true;
  heard('one');
  await turn();
  assert.deepEqual([chat.session, chat.messages.length, chat.problem], ['', 0, 'This chat is not there any more.']);
  chat.close();
});

test('a conversation that turns out to be gone takes away no other one', async () => {
  const { chat, held } = stage((asked) => asked === 'GET /v1/sessions/one');
  const gone = chat.open('one');
  await chat.open('two');
  chat.queue = [{ id: 1, text: 'Waits.', documents: [] }];
  held[0]?.fail(new Failure('gone', 404, 'not_found'));
  await gone;
  assert.deepEqual([chat.session, questions(chat), chat.queue.length, chat.problem], ['two', ['Of two.'], 1, undefined]);
});

test('a conversation is loading until it is there, whatever was asked for before it', async () => {
  const { chat, held, told } = stage((asked) => asked.startsWith('GET /v1/sessions/'));
  void chat.open('one');
  const opened = chat.open('two');
  await turn();
  held[0]?.settle(told('/v1/sessions/one'));
  await turn();
  assert.equal(chat.isLoading, true);
  held[1]?.settle(told('/v1/sessions/two'));
  await opened;
  assert.deepEqual([chat.isLoading, questions(chat)], [false, ['Of two.']]);
});

test('a look that fails is made again where somebody has decided elsewhere', async () => {
  define('addEventListener', (type: string, act: () => void) => type === 'online' && setImmediate(act));
  let looks = 0;
  let isDecided = false;
  const approvals = [{ approvalId: 'p', callId: 'c', name: 'pay', arguments: {} }];
  const { chat } = chatWith(
    (_method, path) => {
      const messages = [{ role: 'user', id: 'u', parts: part('Pay.') }, { role: 'assistant', id: 'a', parts: [{ type: 'call', callId: 'c', name: 'pay', arguments: {} }] }];
      if (path.startsWith('/v1/runs/')) {
        return isDecided ? { outcome: { reason: 'answer' } } : { outcome: { reason: 'pending_approval', approvals } };
      }
      if (!path.startsWith('/v1/sessions/')) {
        return { sessions: [] };
      }
      looks += 1;
      if (looks === 2) {
        throw new Failure('', 502, '502');
      }
      return isDecided ? { messages, runs: [{ id: 'r', ended: 5 }] } : { messages, runs: [{ id: 'r' }], openRun: 'r', approvals };
    },
    async function* () {
      isDecided = true;
      yield { type: 'snapshot', state: 'waiting', step: 0, blocks: [{ type: 'call', step: 0, callId: 'c', name: 'pay' }], approvals, end: { type: 'paused' } };
    },
  );
  await chat.open('s');
  for (let at = 0; at < 50 && chat.last?.state !== 'done'; at += 1) {
    await turn();
  }
  assert.deepEqual([looks, chat.last?.state], [3, 'done']);
  chat.close();
  define('addEventListener', () => undefined);
});

test('a conversation that the network does not bring is asked for again, and what is said meanwhile waits for it', async () => {
  storage();
  const back = new Set<() => void>();
  define('addEventListener', (name: string, act: () => void) => name === 'online' && back.add(act));
  let isDown = true;
  const { chat, asked } = chatWith(
    (method, path) => {
      if (isDown) {
        throw offline();
      }
      const all = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', runId: 'r', parts: part('It is.') }];
      return method === 'POST' ? { runId: 'r2' } : path.endsWith('/s') ? { messages: all, runs: [{ id: 'r', ended: 5 }] } : { sessions: [] };
    },
    async function* (_path, signal) {
      yield await never(signal);
    },
  );
  const opened = chat.open('s');
  await turn();
  assert.deepEqual([chat.isLoading, chat.isReconnecting, chat.problem], [true, true, undefined]);
  await chat.send('second');
  assert.deepEqual(waits(chat), ['second']);
  isDown = false;
  back.forEach((act) => act());
  await opened;
  await turn();
  assert.deepEqual([chat.isLoading, chat.isReconnecting, waits(chat)], [false, false, []]);
  assert.deepEqual(chat.messages.map((message) => message.role), ['user', 'assistant', 'user', 'assistant']);
  assert.equal(asked.at(-1), 'POST /v1/sessions/s/runs second');
  // Somebody who has left it asks for it no more.
  isDown = true;
  void chat.open('s');
  await turn();
  isDown = false;
  await chat.open('');
  const { length } = asked;
  back.forEach((act) => act());
  await turn();
  assert.equal(asked.length, length);
  chat.close();
  define('addEventListener', () => undefined);
});

test('what is said while a conversation is loaded waits for that alone, however often it is left and opened again', async () => {
  storage();
  let isDown = true;
  const { chat, asked } = chatWith(
    (method, path) => {
      if (isDown) {
        throw offline();
      }
      const all = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', runId: 'r', parts: part('It is.') }];
      return method === 'POST' ? { runId: 'r2' } : path.endsWith('/s') ? { messages: all, runs: [{ id: 'r', ended: 5 }] } : { sessions: [] };
    },
    async function* (_path, signal) {
      yield await never(signal);
    },
  );
  void chat.open('s');
  await turn();
  await chat.send('second');
  for (let times = 0; times < 2; times += 1) {
    await chat.open('');
    assert.deepEqual(waits(chat), []);
    void chat.open('s');
    await turn();
    assert.deepEqual(waits(chat), ['second']);
  }
  await chat.open('');
  isDown = false;
  // Nothing is said elsewhere.
  void chat.send('Other.');
  await turn();
  assert.deepEqual(waits(chat), []);
  await chat.open('s');
  await turn();
  assert.deepEqual([waits(chat), asked.filter((each) => each.endsWith('second'))], [[], ['POST /v1/sessions/s/runs second']]);
  chat.close();
});

test('what is said while a conversation is loaded that is gone waits in a new one, without what waited before', async () => {
  storage();
  globalThis.sessionStorage.setItem('attache.https://server.example  queue.s', JSON.stringify([{ id: 1, text: 'Before.', documents: [] }]));
  const { chat, waiting } = held((asked) => asked === 'GET /v1/sessions/s');
  const opened = chat.open('s');
  await turn();
  await chat.send('Meanwhile.');
  assert.deepEqual(waits(chat), ['Before.', 'Meanwhile.']);
  waiting[0]?.fail(new Failure('gone', 404, 'not_found'));
  await opened;
  assert.deepEqual([chat.session, waits(chat)], ['', ['Meanwhile.']]);
  chat.close();
});
