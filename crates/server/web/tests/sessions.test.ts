import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatWith } from './browser.ts';

/** As many sessions, told as the server does: a thousand at most, with the place behind which the list goes on. */
function told(count: number, path: string) {
  const asked = new URL(path, 'http://here').searchParams;
  const start = Number(asked.get('after') ?? 0);
  const end = Math.min(start + Math.min(Number(asked.get('limit')), 1000), count);
  const sessions = Array.from({ length: end - start }, (_, at) => ({ id: `s${start + at}`, title: '', created: 1, accessed: 1, runs: 1, openRun: null }));
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
