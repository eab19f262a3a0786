import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { factsOf } from '../src/state/facts.ts';
import { define, turn } from './browser.ts';
import { held, part, storage, waits } from './stages.ts';

test('facts are asked for each time, and one that fails is none', async () => {
  let asked = 0;
  const context = new Map<string, unknown>([
    ['page', () => (asked += 1)],
    ['user', 'ann'],
    ['broken', () => { throw new Error('no'); }],
  ]);
  assert.deepEqual(await factsOf(context), { page: 1, user: 'ann' });
  assert.deepEqual(await factsOf(context), { page: 2, user: 'ann' });
  assert.equal(await factsOf(new Map()), undefined);
});

test('a fact that JSON cannot say is none, and takes no other away', async () => {
  const item: Record<string, unknown> = { name: 'chair' };
  item.self = item;
  const context = new Map<string, unknown>([['item', item], ['price', 17n], ['click', () => () => undefined], ['user', 'ann']]);
  assert.deepEqual(await factsOf(context), { user: 'ann' });
});

test('facts are awaited, and one that never comes is none', async (test) => {
  test.mock.timers.enable({ apis: ['setTimeout'] });
  const context = new Map<string, unknown>([
    ['never', () => new Promise(() => undefined)],
    ['cart', async () => ['chair']],
    ['order', Promise.resolve(17)],
    ['broken', async () => Promise.reject(new Error('no'))],
  ]);
  const facts = factsOf(context);
  test.mock.timers.tick(2000);
  assert.deepEqual(await facts, { cart: ['chair'], order: 17 });
});

/** A chat on a page whose facts come when the test says so, and the page that is loaded after it. */
async function slow(session: string) {
  storage();
  const listeners: Record<string, (() => void)[]> = {};
  define('addEventListener', (type: string, act: () => void) => (listeners[type] ??= []).push(act));
  const messages = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', parts: part('It is.') }];
  const load = () => held(() => false, (asked) => {
    if (/^GET .v1.sessions.(?!one)/.test(asked)) {
      throw new Failure('gone', 404, 'not_found');
    }
    return asked.startsWith('POST') ? { runId: 'r' } : { messages, runs: [], sessions: [] };
  });
  const { chat, asked } = load();
  await chat.open(session);
  let tell: () => void = () => undefined;
  chat.context.set('cart', () => new Promise<void>((end) => (tell = end)));
  const said = () => asked.filter((each) => each.endsWith('Mine.')).length;
  const happens = (type: string) => listeners[type]?.forEach((act) => act());
  void chat.send('Mine.');
  await turn();
  assert.equal(said(), 0);
  return { chat, said, load, happens, tell: async () => (tell(), await turn()) };
}

test('a question waits where the page goes away before its facts are there', async () => {
  for (const session of ['one', '']) {
    for (const isLeft of [false, true]) {
      const { chat, load, happens } = await slow(session);
      const where = `${session} ${isLeft}`;
      // The page is loaded again where it was, as the session has got an id meanwhile.
      const { session: id } = chat;
      isLeft && (await chat.open('one/other'));
      happens('pagehide');
      const after = load();
      await after.chat.open(isLeft ? 'one/other' : id);
      isLeft && (await after.chat.open(session));
      await turn();
      // Where there is the session, it is said once that is there.
      const asked = after.asked.filter((each) => each.endsWith('Mine.'));
      assert.deepEqual(session ? asked : waits(after.chat), session ? ['POST /v1/sessions/one/runs Mine.'] : ['Mine.'], where);
      chat.close();
      after.chat.close();
    }
  }
  define('addEventListener', () => undefined);
});

test('a question whose facts are there is said once where the page comes back as it was, and a stopped one waits nowhere', async () => {
  const { chat, said, happens, tell, load } = await slow('one');
  happens('pagehide');
  happens('pageshow');
  await tell();
  assert.equal(said(), 1);
  happens('pagehide');
  const after = load();
  await after.chat.open('one');
  assert.deepEqual([waits(after.chat), after.asked.filter((each) => each.endsWith('Mine.'))], [[], []]);
  [chat, after.chat].forEach((each) => each.close());
  const stopped = await slow('one');
  await stopped.chat.stop();
  stopped.happens('pagehide');
  const again = stopped.load();
  await again.chat.open('one');
  assert.deepEqual([waits(again.chat), again.asked.filter((each) => each.endsWith('Mine.'))], [[], []]);
  [stopped.chat, again.chat].forEach((each) => each.close());
  define('addEventListener', () => undefined);
});
