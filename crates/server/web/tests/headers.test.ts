// Headers and keys: those that come late, or that others take the place of, and those of another server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { chatWith, define, turn } from './browser.ts';
import { firstSession, keepSession } from '../src/state/address.ts';
import { part, storage, waits } from './stages.ts';

/** A chat whose server takes no headers but good ones, with a session whose run is under way. */
function guarded() {
  storage();
  const server = { isOpen: false, end: () => undefined as void };
  const guard = () => {
    if (!server.isOpen) {
      throw new Failure('a key is needed', 401, 'unauthorized');
    }
  };
  const messages = [{ role: 'user', id: 'u', parts: part('First.') }];
  const stage = chatWith(
    (method, path) => {
      guard();
      return method === 'POST' ? { runId: 'r' } : path.startsWith('/v1/sessions/') ? { messages, runs: [{ id: 'r' }], openRun: 'r' } : { sessions: [] };
    },
    async function* () {
      guard();
      yield { type: 'text', step: 0, delta: 'It is' };
      await new Promise<void>((end) => (server.end = end));
      guard();
      yield { type: 'finished', reason: 'answer' };
    },
  );
  Object.assign(stage.chat.client, { headers: {} });
  return { ...stage, server };
}

test('headers that come late take the place of the key that was asked for, and what waits is said', async () => {
  const { chat, asked, server } = guarded();
  assert.deepEqual([await chat.start(), chat.needsKey], [false, 'none']);
  await chat.send('Mine.');
  assert.deepEqual(waits(chat), ['Mine.']);
  server.isOpen = true;
  chat.headers = () => ({});
  assert.deepEqual([await chat.start(), chat.needsKey], [true, false]);
  await turn();
  assert.deepEqual([waits(chat), asked.filter((each) => each.endsWith('Mine.')).length], [[], 2]);
  chat.close();
});

test('a conversation that old headers could not read is read with new ones', async () => {
  const { chat, server } = guarded();
  chat.headers = () => ({});
  await chat.open('one');
  assert.deepEqual([chat.messages.length, chat.problem], [0, 'a key is needed']);
  // These are no better.
  await chat.start();
  assert.deepEqual([chat.messages.length, chat.problem], [0, 'a key is needed']);
  server.isOpen = true;
  await chat.start();
  assert.deepEqual([chat.session, chat.questions.length, chat.problem], ['one', 1, undefined]);
  chat.close();
});

test('an answer whose headers ran out goes on with new ones, and other headers alone change nothing', async () => {
  const { chat, asked, server, signals } = guarded();
  chat.headers = () => ({});
  server.isOpen = true;
  await chat.open('one');
  await turn();
  server.isOpen = false;
  server.end();
  await turn();
  assert.equal(chat.last?.state, 'interrupted');
  server.isOpen = true;
  await chat.start();
  await turn();
  assert.deepEqual([chat.last?.state, chat.last?.parts.length, signals.length], ['running', 1, 2]);
  const count = asked.length;
  await chat.start();
  assert.deepEqual([asked.length, signals.length], [count + 1, 2]);
  chat.close();
});

test('a key, a session and words that wait are those of their server and agent', async () => {
  const held = new Map<string, string>();
  const store = { getItem: (name: string) => held.get(name) ?? null, setItem: (name: string, value: string) => held.set(name, value), removeItem: (name: string) => held.delete(name) };
  define('localStorage', store);
  define('sessionStorage', store);
  define('location', { pathname: '/host', hash: '' });
  const chatOf = (base: string, agent: string) => {
    const { chat } = chatWith((method) => (method === 'POST' ? Promise.reject(new Failure('', 0, 'offline')) : { sessions: [] }), async function* () {});
    Object.assign(chat.client, { base, agent, headers: {} });
    return chat;
  };
  const first = chatOf('https://one.example', 'sales');
  await first.useKey('secret');
  first.session = 'abc';
  keepSession(first, false);
  first.session = '';
  await first.send('Mine.');
  await first.open('');
  await first.open('elsewhere');
  for (const [base, agent, key, session, words] of [
    ['https://two.example', 'sales', undefined, '', []],
    ['https://one.example', 'support', 'Bearer secret', '', []],
    ['https://one.example', 'sales', 'Bearer secret', 'abc', ['Mine.']],
  ] as const) {
    const chat = chatOf(base, agent);
    await chat.start();
    await chat.open('elsewhere');
    await chat.open('');
    assert.deepEqual([(chat.client.headers as Record<string, string>).Authorization, firstSession(chat, false), waits(chat)], [key, session, words], `${base} ${agent}`);
    chat.close();
  }
  first.close();
});
