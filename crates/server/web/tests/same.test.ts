import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Marked } from 'marked';
import { kept } from '../src/markdown/same.ts';

const parser = new Marked({ gfm: true, breaks: true });
const blocks = (text: string) => {
  let at = 0;
  return parser.lexer(text).flatMap(({ type, raw }) => {
    at += raw.length;
    return type === 'space' ? [] : { start: at - raw.length, raw };
  });
};

/** The blocks of a text that takes the place of another one: those that stay, and those that are read anew. */
function changed(before: string, next: string) {
  const old = blocks(before);
  const { at, settled } = kept(old.map(({ start }) => start), before, next);
  return [...old.slice(0, at), ...blocks(next.slice(settled))].map(({ raw }) => raw.trimEnd());
}
const fresh = (text: string) => blocks(text).map(({ raw }) => raw.trimEnd());

test('a text that takes the place of another one is read as if it stood alone', () => {
  const pairs = [
    ['\n\nHello', 'Bye'],
    ['\n\nHello', '\nBye'],
    ['\n\nOne.\n\nTwo.', '\n \nOne.\n\nTwo.'],
    ['Hello', 'Bye'],
    ['One.\n\nTwo.\n\nThree.', 'One.\n\nTwo.\n\nFour.'],
    ['- one\n\nwords', '- one\n\n  words'],
    ['- one\n\n words', '- one\n\n  words'],
    ['words\n# head', 'words\n#head'],
    ['words\n\nmore', 'words\nmore'],
    ['One.\n\nTwo.', ''],
    ['', 'One.'],
  ] as const;
  for (const [before, next] of pairs) {
    assert.deepEqual(changed(before, next), fresh(next), JSON.stringify([before, next]));
    assert.deepEqual(changed(next, before), fresh(before), JSON.stringify([next, before]));
  }
});

test('what stands before the block beside the change stays', () => {
  const before = 'One.\n\nTwo.\n\nThree.\n\nFour.';
  const starts = blocks(before).map(({ start }) => start);
  assert.deepEqual(kept(starts, before, before.replace('Four', 'Five')), { at: 2, settled: before.indexOf('Three') });
  assert.deepEqual(kept(starts, before, `${before.slice(0, -1)}!`), { at: 2, settled: before.indexOf('Three') });
});
