import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adopt } from '../src/global.ts';
import { define } from './browser.ts';

/** A chat that notes what the page asks of it. */
function chat(localName = 'attache-chat') {
  const asked: string[] = [];
  const element = { localName, isConnected: true, session: '', setContext: (key: string) => asked.push(key), asked };
  return Object.assign(element, { destroy: () => (element.isConnected = false) });
}
const comes = (element: object) => adopt({ composedPath: () => [element] } as unknown as Event);

/** The `attache` of a page that has only the script. */
function page() {
  const attache = { q: [] as unknown[], element: undefined as unknown };
  define('window', { attache });
  return attache;
}

test('calls wait for the chat, and while it is gone for the next one', () => {
  const attache = page();
  attache.q.push(['setContext', 'a']);
  const [first, second, third] = [chat(), chat(), chat()];
  comes(first);
  attache.q.push(['setContext', 'b']);
  // The page has a chat: another one is not its own.
  comes(second);
  attache.q.push(['setContext', 'c'], ['destroy'], ['setContext', 'd']);
  assert.deepEqual(first.asked, ['a', 'b', 'c']);
  comes(third);
  attache.q.push(['setContext', 'e']);
  assert.deepEqual([second.asked, third.asked], [[], ['d', 'e']]);
});

test('a chat that is put back has the calls from meanwhile', () => {
  const attache = page();
  const element = chat();
  comes(element);
  element.isConnected = false;
  attache.q.push(['setContext', 'a']);
  assert.deepEqual(element.asked, []);
  element.isConnected = true;
  comes(element);
  attache.q.push(['setContext', 'b']);
  assert.deepEqual(element.asked, ['a', 'b']);
});

test('an element around a chat that nobody sees is not taken for it', () => {
  const attache = page();
  comes(chat('shop-help'));
  assert.equal(attache.element, undefined);
});
