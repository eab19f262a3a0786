import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../src/api/json.ts';
import { factsOf } from '../src/state/facts.ts';
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
    call: async (id: string) => ({ result: `of ${id}`, isError: false }),
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
  const tools = {
    get: () => ({ name: 't', description: '' }),
    call: (id: string, _name: string, _args: unknown, signal: AbortSignal) =>
      new Promise<{ result: unknown; isError: boolean }>((end) => signal.addEventListener('abort', () => (told.push(`${id} aborted`), end({ result: id, isError: true })))),
  };
  const calls = new PageCalls(tools, { changed: () => undefined, begun: () => undefined, deliver: async (id) => void told.push(`${id} delivered`) });
  const watching = new AbortController();
  const [ended, left] = ['ended', 'left'].map((id) => calls.answer(call(id), watching.signal, 's'));
  calls.ended('ended');
  await ended;
  // A reader who only looks elsewhere still tells the result of a call.
  watching.abort();
  await left;
  assert.deepEqual(told, ['ended aborted', 'left aborted', 'left delivered']);
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

test('facts are asked for each time, and one that fails is none', () => {
  let asked = 0;
  const context = new Map<string, unknown>([
    ['page', () => (asked += 1)],
    ['user', 'ann'],
    ['broken', () => { throw new Error('no'); }],
  ]);
  assert.deepEqual(factsOf(context), { page: 1, user: 'ann' });
  assert.deepEqual(factsOf(context), { page: 2, user: 'ann' });
  assert.equal(factsOf(new Map()), undefined);
});
