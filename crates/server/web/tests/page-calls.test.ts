import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../src/api/json.ts';
import type { Call } from '../src/state/model.ts';
import { PageCalls } from '../src/state/page-calls.ts';

const call = (id: string, name = 'title'): Call =>
  ({ kind: 'call', step: 0, id, name, state: 'frontend', raw: '', arguments: { n: 1 }, documents: [], inside: [] });

/** Calls of a page with one tool, and what became of them. */
function page(approval: boolean) {
  const done: string[] = [];
  const tool = { tool: { name: 'title', description: '' }, approval } as never;
  const tools = {
    get: (name: string) => (name === 'title' ? tool : undefined),
    call: async (id: string, _name: string, _args: unknown, _signal: AbortSignal, _waiting: AbortSignal, begins: () => void) => (begins(), { result: `of ${id}`, isError: false }),
  };
  const calls = new PageCalls(tools as never, {
    changed: () => undefined,
    begun: ({ id }) => done.push(`begun ${id}`),
    deliver: async (id, result, isError, session) => void done.push(`${session}: ${id} ${String(result)} ${isError}`),
  });
  return { calls, done };
}

test('a call is answered once, in the session in which it was asked', async () => {
  const { calls, done } = page(false);
  const { signal } = new AbortController();
  await Promise.all([calls.answer(call('a'), signal, 's'), calls.answer(call('a'), signal, 't')]);
  await calls.answer(call('b', 'unknown'), signal, 's');
  assert.deepEqual(done, ['begun a', 's: a of a false']);
});

test('a page is given numbers as JavaScript has them', async () => {
  let given: unknown;
  const tools = { get: () => ({}), call: async (_id: string, _name: string, args: unknown) => void (given = args) };
  const calls = new PageCalls(tools as never, { changed: () => undefined, begun: () => undefined, deliver: async () => undefined });
  await calls.answer({ ...call('a'), arguments: parse('{"account":9007199254740993}') }, new AbortController().signal, 's');
  assert.deepEqual(given, { account: 9007199254740992 });
});

test('a tool that needs leave waits for it, and a refused one is not called', async () => {
  const { calls, done } = page(true);
  const { signal } = new AbortController();
  const [allowed, refused] = [calls.answer(call('a'), signal, 's'), calls.answer(call('b'), signal, 's')];
  assert.deepEqual(calls.asked, ['a', 'b']);
  calls.allow('a');
  calls.refuse('b');
  await Promise.all([allowed, refused]);
  assert.deepEqual(done, ['begun a', 's: a of a false']);
  assert.deepEqual(calls.asked, []);
});

test('a call that nobody looks at any more is asked about again', async () => {
  const { calls, done } = page(true);
  const first = new AbortController();
  const asked = calls.answer(call('a'), first.signal, 's');
  first.abort();
  await asked;
  const again = calls.answer(call('a'), new AbortController().signal, 's');
  calls.allow('a');
  await again;
  assert.deepEqual(done, ['begun a', 's: a of a false']);
});

test('a call that has ended is told to its handler, and its answer to nobody', async () => {
  const told: string[] = [];
  let finish = () => {};
  const tools = {
    get: () => ({ name: 't', description: '' }),
    call: (id: string, _name: string, _args: unknown, signal: AbortSignal) =>
      new Promise<{ result: unknown; isError: boolean }>((end) => {
        signal.addEventListener('abort', () => (told.push(`${id} aborted`), end({ result: id, isError: true })));
        finish = () => end({ result: 'sold', isError: false });
      }),
  };
  const calls = new PageCalls(tools, { changed: () => undefined, begun: () => undefined, deliver: async (id, result) => void told.push(`${id} ${String(result)}`) });
  const watching = new AbortController();
  const [ended, left] = ['ended', 'left'].map((id) => calls.answer(call(id), watching.signal, 's'));
  calls.ended('ended');
  await ended;
  // Somebody who only looks elsewhere stops nothing, and the model hears what became of it.
  watching.abort();
  finish();
  await left;
  assert.deepEqual(told, ['ended aborted', 'left sold']);
});

test('nothing is held of a call that was refused, or that nobody looks at', async () => {
  const { calls } = page(true);
  const { endings } = calls as unknown as { endings: Map<string, unknown> };
  const watching = new AbortController();
  const [refused, left] = ['refused', 'left'].map((id) => calls.answer(call(id), watching.signal, 's'));
  assert.equal(endings.size, 2);
  calls.refuse('refused');
  await refused;
  assert.deepEqual([...endings.keys()], ['left']);
  watching.abort();
  await left;
  assert.equal(endings.size, 0);
});

test('the page is told of a call where it is made, and not where another tab makes it', async () => {
  const told: string[] = [];
  const tools = { get: () => ({ name: 'title' }), call: async () => undefined };
  const calls = new PageCalls(tools, { changed: () => undefined, begun: ({ id }) => told.push(id), deliver: async (id) => void told.push(id) });
  await calls.answer(call('a'), new AbortController().signal, 's');
  assert.deepEqual(told, []);
});

test('whoever looks elsewhere waits for a call of another tab no more, and again on coming back', async () => {
  const waited: AbortSignal[] = [];
  const told: string[] = [];
  const tools = {
    get: () => ({ name: 'title' }),
    call: (id: string, _name: string, _args: unknown, _signal: AbortSignal, waiting: AbortSignal, begins: () => void) => {
      waited.push(waiting);
      return new Promise<{ result: unknown; isError: boolean } | undefined>((end) => {
        waiting.addEventListener('abort', () => id === 'theirs' && end(undefined));
        id === 'mine' && begins();
      });
    },
  };
  const calls = new PageCalls(tools, { changed: () => undefined, begun: ({ id }) => told.push(id), deliver: async (id) => void told.push(id) });
  const first = new AbortController();
  const theirs = calls.answer(call('theirs'), first.signal, 's');
  void calls.answer(call('mine'), first.signal, 's');
  first.abort();
  await theirs;
  assert.deepEqual(waited.map(({ aborted }) => aborted), [true, true]);
  for (const id of ['theirs', 'mine']) {
    void calls.answer(call(id), new AbortController().signal, 's');
  }
  // The handler that has begun here goes on, and is not called again.
  assert.deepEqual([waited.length, waited[2]?.aborted, told], [3, false, ['mine']]);
  // A call that has ended meanwhile is nobody's.
  calls.ended('theirs');
  assert.equal(waited[2]?.aborted, true);
});

test('a call that another tab has answered is not waited for again', async () => {
  let calls = 0;
  const tools = { get: () => ({ name: 'title' }), call: async () => void (calls += 1) };
  const page = new PageCalls(tools, { changed: () => undefined, begun: () => undefined, deliver: async () => undefined });
  const { signal } = new AbortController();
  await page.answer(call('a'), signal, 's');
  await page.answer(call('a'), signal, 's');
  assert.equal(calls, 1);
});
