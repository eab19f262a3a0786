import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Failure } from '../src/api/client.ts';
import type { SessionInfo } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';

/** As many sessions, told as the server does: a thousand at most, with the place behind which the list goes on. */
function told(count: number, path: string) {
  const asked = new URL(path, 'http://here').searchParams;
  const start = Number(asked.get('after') ?? 0);
  const end = Math.min(start + Math.min(Number(asked.get('limit')), 1000), count);
  const sessions = Array.from({ length: end - start }, (_, at) => ({ id: `s${start + at}`, title: '', created: 1, updated: 1, runs: 1, openRun: null }));
  return { sessions, next: end < count ? String(end) : undefined };
}

test('a list that is longer than the server tells at a time keeps its rows', async () => {
  const { sessions } = chatWith((_method, path) => told(1500, path), async function* () {}).chat;
  await sessions.load();
  for (let count = 0; count < 5; count += 1) {
    await sessions.more();
  }
  assert.deepEqual([sessions.all.length, sessions.hasMore], [1200, true]);
  await sessions.load();
  assert.equal(new Set(sessions.all.map(({ id }) => id)).size, 1200);
  await sessions.more();
  await sessions.more();
  assert.deepEqual([sessions.all.length, sessions.hasMore], [1500, false]);
});

test('further sessions are asked for behind the last one, and a refresh asks for all that are there', async () => {
  const asked: string[] = [];
  const { sessions } = chatWith((_method, path) => (asked.push(path), told(700, path)), async function* () {}).chat;
  await sessions.load();
  await sessions.more();
  await sessions.more();
  assert.deepEqual(sessions.all.map(({ id }) => id), Array.from({ length: 600 }, (_, at) => `s${at}`));
  await sessions.load();
  const behind = ['', '&after=200', '&after=400'].map((after) => `/v1/sessions?limit=200${after}`);
  assert.deepEqual(asked, [...behind, '/v1/sessions?limit=600']);
  assert.deepEqual([sessions.all.length, sessions.hasMore], [600, true]);
});

test('further sessions do not take the place of a refresh', async () => {
  let title = 'before';
  const answer = (path: string) => ({ ...told(300, path), sessions: told(300, path).sessions.map((session) => ({ ...session, title })) });
  const { sessions } = chatWith((_method, path) => answer(path), async function* () {}).chat;
  await sessions.load();
  title = 'after';
  await Promise.all([sessions.load(), sessions.more()]);
  assert.deepEqual([sessions.all.length, sessions.all[0]?.title], [300, 'after']);
});

test('further sessions are there although the list was asked for anew meanwhile', async () => {
  const { sessions } = chatWith((_method, path) => told(500, path), async function* () {}).chat;
  await sessions.load();
  const more = sessions.more();
  const again = sessions.load();
  await more;
  assert.equal(sessions.all.length, 400);
  await again;
  assert.equal(sessions.all.length, 400);
});

test('a conversation is deleted with all of its versions, and a deletion that failed is told', async () => {
  const told = (id: string, other?: string) => ({ id, title: '', created: id.length, updated: 1, runs: 1, forkedFrom: other ? { session: other, questions: 0 } : undefined });
  let isDown = false;
  let all = [told('one'), told('second', 'one'), told('another'), told('third one', 'second')];
  const { chat, asked } = chatWith(
    (method, path) => {
      if (method === 'DELETE') {
        if (isDown) {
          throw new Failure('the store is away', 503, 'unavailable');
        }
        all = all.filter(({ id }) => path !== `/v1/sessions/${encodeURIComponent(id)}`);
        return undefined;
      }
      return { sessions: all };
    },
    async function* () {},
  );
  const { sessions } = chat;
  await sessions.load();
  const [first, , another] = sessions.all;
  sessions.delete(first as SessionInfo);
  assert.deepEqual(sessions.shown.map(({ id }) => id), ['another']);
  sessions.undo();
  assert.deepEqual(sessions.shown.map(({ id }) => id), ['one', 'another']);
  sessions.delete(first as SessionInfo);
  sessions.settle();
  await turn();
  assert.deepEqual(sessions.all.map(({ id }) => id), ['another']);
  assert.equal(asked.filter((each) => each.startsWith('DELETE')).length, 3);
  isDown = true;
  sessions.delete(another as SessionInfo);
  sessions.settle();
  await turn();
  assert.deepEqual([chat.problem, sessions.all.map(({ id }) => id)], ['the store is away', ['another']]);
});

test('a page that goes away still deletes', async () => {
  const sent: unknown[] = [];
  define('location', { href: 'http://here/' });
  define('fetch', async (_url: string, init: unknown) => (sent.push(init), new Response(null, { status: 204 })));
  await new Client('').ask('DELETE', '/v1/sessions/s');
  assert.equal((sent[0] as RequestInit).keepalive, true);
});

test('a session that is gone already is deleted, and the list is asked for behind the last deletion', async () => {
  const told = (id: string, runs = 1, other?: string) => ({ id, title: '', created: id.length, updated: 1, runs, forkedFrom: other ? { session: other, questions: 0 } : undefined });
  let settle: () => void = () => undefined;
  const { chat, asked } = chatWith(
    (method, path) => {
      if (method !== 'DELETE') {
        return { sessions: [told('fork', 0, 'one'), told('one')] };
      }
      if (path.endsWith('/one')) {
        throw new Failure('no such session', 404, 'not_found');
      }
      return new Promise<void>((end) => (settle = end));
    },
    async function* () {},
  );
  const { sessions } = chat;
  await sessions.load();
  // A version in which nothing was said hides no other one.
  assert.deepEqual(sessions.shown.map(({ id }) => id), ['one']);
  sessions.delete(sessions.shown[0] as SessionInfo);
  sessions.settle();
  await turn();
  assert.equal(asked.filter((each) => each.startsWith('GET')).length, 1);
  settle();
  await turn();
  assert.deepEqual([asked.filter((each) => each.startsWith('GET')).length, chat.problem], [2, undefined]);
});

test('the title of a chat is known while a search does not find it, and a deletion that is taken back yields the chat that was shown', async () => {
  const told = (id: string, title: string) => ({ id, title, created: 1, updated: 1, runs: 1, openRun: null });
  const all = [told('one', 'Pears'), told('other', 'Apples')];
  const { sessions } = chatWith((_method, path) => ({ sessions: all.filter(({ title }) => !path.includes('q=') || path.includes(title)) }), async function* () {}).chat;
  await sessions.load();
  sessions.query = 'Apples';
  await sessions.load();
  assert.deepEqual(sessions.all.map(({ id }) => id), ['other']);
  assert.equal(sessions.titleOf('one'), 'Pears');
  await sessions.rename('one', 'Plums');
  assert.equal(sessions.titleOf('one'), 'Plums');
  const [other] = sessions.all as [SessionInfo];
  sessions.delete(other, 'fork');
  assert.equal(sessions.undo(), 'fork');
  sessions.delete(other);
  assert.equal(sessions.undo(), '');
});

test('a chat is at work in each of its runs, and no more once one has failed', async () => {
  let openRun: string | null = null;
  let runs = 0;
  const { chat } = chatWith(
    (method, path) => (method === 'POST' ? { runId: (openRun = `r${(runs += 1)}`) } : path.startsWith('/v1/sessions?') ? { sessions: [{ id: 's', title: '', created: 1, updated: 1, runs, openRun }] } : {}),
    async function* () {
      await end;
      // The server keeps a run open that somebody may go on with.
      openRun = runs === 2 ? openRun : null;
      yield { type: 'failed', reason: 'provider_error', error: { message: 'away', code: 'network' } };
    },
  );
  let go: () => void = () => undefined;
  let end = Promise.resolve();
  chat.session = 's';
  const atWork = () => chat.sessions.all.map((session) => chat.sessions.isAtWork(session));
  await chat.send('first');
  await turn();
  assert.deepEqual(atWork(), [false]);
  end = new Promise((next) => (go = next));
  void chat.send('second');
  await turn();
  assert.deepEqual(atWork(), [true]);
  go();
  await turn();
  await chat.sessions.load();
  assert.deepEqual([chat.sessions.all[0]?.run, atWork()], ['r2', [false]]);
});

test('a run that failed before the page was loaded is not at work, and is asked of once', async () => {
  const told = (id: string) => ({ id, title: '', created: 1, updated: 1, runs: 1, openRun: `${id}.run` });
  const outcomes: Record<string, object> = {
    'failed.run': { outcome: { reason: 'provider_error', error: { code: 'network' } } },
    'lost.run': { snapshot: { end: { type: 'failed', error: { code: 'network' } } } },
    'waiting.run': { outcome: { reason: 'pending_approval' } },
    'running.run': { snapshot: {} },
  };
  const { chat, asked } = chatWith((_method, path) => outcomes[path.replace('/v1/runs/', '')] ?? { sessions: ['failed', 'lost', 'waiting', 'running', 'gone'].map(told) }, async function* () {});
  for (const _ of [1, 2]) {
    await chat.sessions.load();
    await turn();
  }
  assert.deepEqual(chat.sessions.all.filter((session) => chat.sessions.isAtWork(session)).map(({ id }) => id), ['waiting', 'running', 'gone']);
  assert.equal(asked.filter((each) => each.includes('/v1/runs/')).length, 8);
});

test('a list in which a run has failed is drawn anew, and a run that fails later is found', async () => {
  const outcomes: Record<string, object> = { r: { snapshot: {} } };
  let come: () => void = () => undefined;
  const { chat } = chatWith(
    (_method, path) => {
      const run = path.replace('/v1/runs/', '');
      if (outcomes[run] === undefined && path.includes('/v1/runs/')) {
        throw new Failure('away', 503, 'unavailable');
      }
      return outcomes[run] ?? { sessions: ['r', 'lost'].map((openRun) => ({ id: openRun, title: '', created: 1, updated: 1, runs: 1, openRun })) };
    },
    async function* () {},
  );
  const { sessions } = chat;
  const atWork = () => sessions.all.filter((session) => sessions.isAtWork(session)).map(({ id }) => id);
  await sessions.load();
  await turn();
  assert.deepEqual(atWork(), ['r', 'lost']);
  outcomes.r = outcomes.lost = new Promise<void>((next) => (come = next)).then(() => ({ outcome: { error: { code: 'network' } } }));
  await sessions.load();
  const drawn = sessions.all;
  come();
  await turn();
  assert.deepEqual(atWork(), []);
  // A list that is the same object is not drawn once more.
  assert.notEqual(sessions.all, drawn);
});

test('of more runs than are asked of at a time, those that were not asked of come first, and one that went on is not over', async () => {
  const runs = Array.from({ length: 30 }, (_, at) => `r${at}`);
  const told: (() => void)[] = [];
  const { chat, asked } = chatWith(
    (_method, path) =>
      path.includes('/v1/runs/')
        ? new Promise((end) => told.push(() => end({ outcome: { error: path.endsWith('/r0') ? {} : undefined } })))
        : { sessions: runs.map((openRun) => ({ id: openRun, title: '', created: 1, updated: 1, runs: 1, openRun })) },
    async function* () {},
  );
  const { sessions } = chat;
  await sessions.load();
  sessions.begun('r0', 'r0');
  told.forEach((tell) => tell());
  await turn();
  assert.equal(sessions.all.filter((session) => sessions.isAtWork(session)).length, 30);
  await sessions.load();
  assert.deepEqual(new Set(asked.filter((each) => each.includes('/v1/runs/')).map((each) => each.slice('GET /v1/runs/'.length))), new Set(runs));
});
