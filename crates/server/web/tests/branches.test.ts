import assert from 'node:assert/strict';
import { test } from 'node:test';
import { current, root, versions } from '../src/state/branches.ts';
import { chatWith } from './browser.ts';

// The second message was written anew twice, once in the first version and once in the second; there the third too.
const origins = { b: { session: 'a', at: 1 }, c: { session: 'b', at: 1 }, d: { session: 'c', at: 2 } };

test('versions of a message are told in each of them', () => {
  for (const session of ['a', 'b', 'c', 'd']) {
    assert.deepEqual(versions(origins, session, 1), ['a', 'b', 'c'], session);
    assert.equal(versions(origins, session, 0).length, 1, session);
  }
  assert.deepEqual(versions(origins, 'd', 2), ['c', 'd']);
  assert.deepEqual(versions(origins, 'c', 2), ['c', 'd']);
  assert.deepEqual(versions(origins, 'a', 2), ['a']);
});

test('the version that is shown is told', () => {
  assert.deepEqual(['a', 'b', 'c', 'd'].map((session) => current(origins, session, 1, ['a', 'b', 'c'])), [0, 1, 2, 2]);
  assert.deepEqual(['c', 'd'].map((session) => current(origins, session, 2, ['c', 'd'])), [0, 1]);
});

test('all versions are one conversation', () => {
  assert.deepEqual(['a', 'b', 'c', 'd', 'x'].map((session) => root(origins, session)), ['a', 'a', 'a', 'a', 'x']);
});

test('versions are those that the server tells, whichever browser made them', async () => {
  const told = (id: string, created: number, from?: { session: string; questions: number }) => ({ id, title: id, created, updated: 9 - created, runs: 1, openRun: null, forkedFrom: from });
  let sessions: object[] = [told('c', 3, { session: 'a', questions: 1 }), told('a', 1), told('b', 2, { session: 'a', questions: 1 }), told('d', 4)];
  const messages = ['one', 'two'].map((id) => ({ role: 'user', id, parts: [{ type: 'text', text: id }] }));
  const { chat } = chatWith((_method, path) => (path.startsWith('/v1/sessions?') ? { sessions } : { messages, runs: [] }), async function* () {});
  await chat.sessions.load();
  await chat.open('c');
  assert.deepEqual(chat.questions.map((question) => chat.versionsOf(question)), [{ all: ['a'], at: 0 }, { all: ['a', 'b', 'c'], at: 2 }]);
  // All versions are one row of the list.
  assert.deepEqual(chat.sessions.shown.map(({ id }) => id), ['c', 'd']);
  // One that was deleted elsewhere is a version no more.
  sessions = sessions.filter((each) => (each as { id: string }).id !== 'b');
  await chat.sessions.load();
  assert.deepEqual(chat.versionsOf(chat.questions[1]!).all, ['a', 'c']);
});

test('origins in a circle end', () => {
  const wrong = { a: { session: 'b', at: 1 }, b: { session: 'a', at: 1 } };
  assert.ok(versions(wrong, 'a', 1).length > 0);
  assert.equal(current(wrong, 'a', 1, ['x']), 0);
});
