// The first questions of chats, which no session has before the server has taken one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { define, turn } from './browser.ts';
import { held, offline, part, storage, waits } from './stages.ts';

const nothing = { messages: [], runs: [], sessions: [] };
/** A server that has some sessions, with the questions in them, and whose runs begin when the test says so. */
function stage(sessions: Record<string, string[]> = {}) {
  storage();
  const stage = held((asked) => asked.endsWith('/runs'), (asked) => {
    const id = /sessions\/(\w+)/.exec(asked)?.[1];
    const questions = id ? sessions[id] : [];
    if (!questions) {
      throw new Failure('gone', 404, 'not_found');
    }
    return { ...nothing, messages: questions.map((text) => ({ role: 'user', id: text, parts: part(text) })) };
  });
  const { chat, waiting } = stage;
  Object.assign(chat.client, { headers: {} });
  const say = async (text: string) => (void chat.send(text), await turn());
  const fail = async (at = waiting.length - 1, error: unknown = offline()) => (waiting[at]?.fail(error), await turn());
  return { ...stage, sessions, say, fail };
}

test('first questions of two new chats that both failed wait', async () => {
  // In the order in which they fail, before and after somebody looks at a third chat.
  for (const isLeft of [false, true]) {
    const { chat, say, fail } = stage({ other: [] });
    await say('First.');
    await chat.open('');
    await say('Second.');
    isLeft && (await chat.open('other'));
    await fail(0);
    await fail(1);
    await chat.open('other');
    assert.deepEqual(waits(chat), []);
    await chat.open('');
    assert.deepEqual(waits(chat).sort(), ['First.', 'Second.'], String(isLeft));
    chat.close();
  }
});

test('a first question that waits is there although a chat was on its way meanwhile', async () => {
  storage();
  const { chat, waiting } = held((asked) => asked.includes('/sessions/'));
  void chat.send('First.');
  await turn();
  waiting[0]?.fail(offline());
  await turn();
  void chat.open('other');
  await turn();
  void chat.open('');
  await turn();
  waiting.at(-1)?.settle(nothing);
  await turn();
  assert.deepEqual([chat.session, waits(chat)], ['', ['First.']]);
  chat.close();
});

test('questions of a chat that the server does not have wait in a new one, whichever of them failed when', async () => {
  for (const act of ['again', 'second', 'behind'] as const) {
    const { chat, say, fail } = stage({ other: [] });
    await say('First.');
    if (act === 'behind') {
      await say('Second.');
    } else {
      await fail();
      act === 'second' ? await say('Second.') : void chat.again(chat.last as never);
      await turn();
    }
    await chat.open('other');
    await fail();
    assert.deepEqual(waits(chat), [], act);
    await chat.open('');
    assert.deepEqual(waits(chat).sort(), act === 'again' ? ['First.'] : ['First.', 'Second.'], act);
    chat.close();
  }
});

test('what waits behind a first question that arrives late waits in its chat', async () => {
  const { chat, waiting, sessions, say } = stage({ other: [] });
  await say('First.');
  await say('Second.');
  const id = chat.session;
  await chat.open('other');
  sessions[id] = ['First.'];
  waiting[0]?.settle({ runId: 'r' });
  await turn();
  await chat.open('');
  assert.deepEqual(waits(chat), []);
  await chat.open(id);
  assert.deepEqual(waits(chat), ['Second.']);
  chat.close();
});

test('a first question that has arrived waits no more once its chat is seen, and others still do', async () => {
  // It failed before or after somebody left it.
  for (const isLeft of [false, true]) {
    const { chat, sessions, say, fail } = stage({ other: [] });
    await say('Other.');
    await fail();
    await chat.open('');
    await say('First.');
    const id = chat.session;
    sessions[id] = ['First.'];
    isLeft || (await fail());
    await chat.open('other');
    isLeft && (await fail());
    await chat.open(id);
    assert.deepEqual(chat.questions.map(({ text }) => text), ['First.']);
    await chat.open('');
    assert.deepEqual(waits(chat), ['Other.'], String(isLeft));
    chat.close();
  }
});

test('a key that is given leaves a first question that failed', async () => {
  const { chat, say, fail, asked } = stage();
  await say('First.');
  await fail(0, new Failure('', 502, '502'));
  chat.fail(new Failure('', 401, 'unauthorized'));
  await chat.useKey('key');
  await turn();
  assert.deepEqual([chat.needsKey, chat.questions.map(({ text }) => text), chat.last?.state], [false, ['First.'], 'failed']);
  // Asked again, it is refused, and said once with the key.
  void chat.again(chat.last as never);
  await turn();
  await fail(1, new Failure('', 401, 'unauthorized'));
  assert.deepEqual(waits(chat), ['First.']);
  await chat.useKey('key');
  await turn();
  assert.deepEqual([asked.filter((each) => each.endsWith('/runs First.')).length, waits(chat)], [3, []]);
  chat.close();
});

test('a first question that failed waits where the page is loaded again at an address that the server does not have', async () => {
  const listeners: Record<string, () => void> = {};
  define('addEventListener', (type: string, act: () => void) => (listeners[type] = act));
  const { chat, say, fail } = stage();
  await say('First.');
  await fail();
  const { session } = chat;
  listeners.pagehide?.();
  const after = held(() => false, () => {
    throw new Failure('gone', 404, 'not_found');
  });
  await after.chat.open(session);
  assert.deepEqual([after.chat.session, waits(after.chat)], ['', ['First.']]);
  define('addEventListener', () => undefined);
});

test('a page that comes back as it was says nothing twice', async () => {
  const listeners: Record<string, () => void> = {};
  define('addEventListener', (type: string, act: () => void) => (listeners[type] = act));
  const { chat, say, fail, waiting } = stage();
  await say('First.');
  await fail(0, new Failure('', 429, 'rate_limited'));
  await chat.open('');
  chat.queue = [{ id: 1, text: 'Mine.', documents: [] }];
  listeners.pagehide?.();
  listeners.pageshow?.();
  void chat.interject(1);
  await turn();
  assert.deepEqual([waiting.length, waits(chat)], [2, []]);
  chat.close();
  define('addEventListener', () => undefined);
});
