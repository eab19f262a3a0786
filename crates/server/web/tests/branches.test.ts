import assert from 'node:assert/strict';
import { test } from 'node:test';
import { current, root, versions, without } from '../src/state/branches.ts';

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

test('a version whose origin is gone comes from where that came from', () => {
  assert.deepEqual(without(origins, 'b'), { c: { session: 'a', at: 1 }, d: { session: 'c', at: 2 } });
});

test('origins in a circle end', () => {
  const wrong = { a: { session: 'b', at: 1 }, b: { session: 'a', at: 1 } };
  assert.ok(versions(wrong, 'a', 1).length > 0);
  assert.equal(current(wrong, 'a', 1, ['x']), 0);
});
