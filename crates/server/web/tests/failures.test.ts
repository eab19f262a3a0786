// Failures in the words of the page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { MAY_CHANGE } from '../src/parts/approval.ts';
import { SAID } from '../src/parts/pane.ts';
import { isTold, sentenceOf } from '../src/state/failures.ts';
import { en } from '../src/words/en.ts';
import { later } from '../src/words/later.ts';
import { Speech } from '../src/words/words.ts';
import { chatWith } from './browser.ts';

const speech = new Speech();
const address = 'cannot connect to 127.0.0.1:8911: Connection refused (os error 111)';

test('a failure of the provider is a sentence of the page, which names no address', () => {
  // The words that come later are not there yet.
  assert.equal(sentenceOf('network', address, speech), '');
  Object.assign(en, later);
  assert.equal(sentenceOf('network', address, speech), 'The model cannot be reached.');
  assert.deepEqual(['unsupported', 'network', 'refused'].map(isTold), [true, false, false]);
  assert.equal(sentenceOf('tool_abort', 'the run ended without an answer', speech), 'The answer ended early: a tool ended it.');
  // A code that is not known has the words of the server.
  assert.equal(sentenceOf('not_found', 'there is no such document', speech), 'there is no such document');
  const { chat } = chatWith(() => undefined, async function* () {});
  let told = {};
  chat.tell = (news) => (told = news);
  chat.fail(new Failure(address, 502, 'network'));
  assert.equal(chat.problem, 'The model cannot be reached.');
  // The page around learns what the server said.
  assert.deepEqual(told, { type: 'error', message: address, code: 'network' });
});

test('each kind of failure of a provider has words', () => {
  const kinds = [...readFileSync(`${process.cwd()}/../../core/src/error.rs`, 'utf8').matchAll(/Self::\w+ => "([a-z_]+)",/g)].map(([, kind]) => kind as string);
  assert.ok(kinds.includes('network'), kinds.join());
  const codes = kinds.map((kind) => (kind === 'context_too_long' ? 'context_length_exceeded' : kind));
  const bare = (reason: string) => codes.filter((code) => sentenceOf(code, address, speech, reason) === address);
  assert.deepEqual(bare('provider_error'), []);
  // The server says itself which request of the page was wrong.
  assert.deepEqual(bare(''), ['not_found', 'invalid_request', 'invalid_history', 'cancelled', 'closed']);
});

test('a reason that says no more than the badge beside it is one of those that the router gives', () => {
  const router = readFileSync(`${process.cwd()}/../../documents/src/decide/document.rs`, 'utf8');
  assert.ok(router.includes('format!("shown as {what}")'));
  const said = [...router.matchAll(/shown_as\("([^"]+)"/g)].map(([, what]) => `shown as ${what}`);
  assert.deepEqual(said.filter((reason) => SAID.test(reason)), ['shown as text', 'shown as converted text']);
});

test('the reason that says the same of each tool is that of the configuration', () => {
  assert.ok(readFileSync(`${process.cwd()}/../../config/src/agent.rs`, 'utf8').includes(`"${MAY_CHANGE}"`));
});
