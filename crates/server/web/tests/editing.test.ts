import assert from 'node:assert/strict';
import { test } from 'node:test';
// Lit has a document of its own where there is none yet.
import 'lit';
import { Failure } from '../src/api/client.ts';
import type { Question } from '../src/state/model.ts';
import { chatWith, define, turn } from './browser.ts';
import { held, part, storage } from './stages.ts';

/** All that the cleaner of HTML asks of a window before it is used. */
const any: object = new Proxy(function () {}, { get: (_, name) => (name === 'nodeType' ? 9 : name === Symbol.toPrimitive ? () => '' : any), apply: () => any });
define('window', { document: any, Element: any, Node: any, NodeFilter: any, NamedNodeMap: any, HTMLFormElement: any, DOMParser: any, HTMLTemplateElement: undefined });
define('HTMLElement', class {});
await import('../src/parts/message.ts');

type Stage = { isEditing: boolean; updateComplete: Promise<void>; querySelector: () => object; getRootNode: () => object; edit?: (words?: string) => void };

test('a message that could not be written anew leaves the focus and the words of whoever writes', async () => {
  const { edit } = customElements.get('attache-message')?.prototype as unknown as { edit: (this: Stage, words?: string) => void };
  for (const [active, words, isFocused] of [[{ value: 'A new question' }, 'Old.', false], [{ value: '' }, 'Old.', true], [null, 'Old.', true], [{ value: 'A new question' }, undefined, true]] as const) {
    const area = { value: 'Told.', hasFocus: false, focus: () => (area.hasFocus = true), setSelectionRange: () => undefined };
    const stage = { isEditing: false, updateComplete: Promise.resolve(), querySelector: () => area, getRootNode: () => ({ activeElement: active }) };
    edit.call(stage, words);
    await turn();
    assert.deepEqual([stage.isEditing, area.value, area.hasFocus], [true, words ?? 'Told.', isFocused], JSON.stringify(active));
  }
  // Somebody writes it anew already.
  const area = { value: 'Half of', focus: () => assert.fail('it takes the focus'), setSelectionRange: () => undefined };
  const stage = { isEditing: true, updateComplete: Promise.resolve(), querySelector: () => area, getRootNode: () => ({ activeElement: area }) };
  edit.call(stage, 'Old.');
  await turn();
  assert.equal(area.value, 'Half of');
});

test('an editor has the words of its message again, as often as that could not be written anew', async () => {
  storage();
  const { updated } = customElements.get('attache-message')?.prototype as unknown as { updated: (this: object, changed: Map<string, unknown>) => void };
  define('requestAnimationFrame', (act: () => void) => (setImmediate(act), 1));
  const { chat } = held(() => false, (asked) => {
    if (asked.endsWith('/fork')) {
      throw new Failure('', 503, '503');
    }
    return { messages: ['first', 'second'].map((text) => ({ role: 'user', id: text, parts: part(text) })), runs: [], sessions: [] };
  });
  await chat.open('one');
  await turn();
  const edited: string[] = [];
  const message = chat.questions[0] as Question;
  const stage = { chat, message, unsaved: undefined as string | undefined, edit: (words: string) => edited.push(words), complete: () => undefined };
  // As Lit does: an element hears of what is another value than before.
  chat.subscribe(() => {
    const before = stage.unsaved;
    stage.unsaved = chat.unsaved.of(message);
    stage.unsaved !== before && updated.call(stage, new Map([['unsaved', before]]));
  });
  for (const times of [1, 2, 3]) {
    assert.equal(await chat.edit(message, 'Once more.'), false);
    await turn();
    assert.deepEqual(edited, Array(times).fill('Once more.'));
  }
  // Words that an editor has come to no other one.
  chat.changed();
  await turn();
  assert.deepEqual([edited.length, chat.unsaved.of(message)], [3, undefined]);
  define('requestAnimationFrame', () => undefined);
  chat.close();
});

test('a picture of a long conversation looks at each of its questions a few times', () => {
  const { chat } = chatWith(() => ({}), async function* () {});
  let looks = 0;
  const count = 500;
  chat.messages = Array.from({ length: count }, (_, at) => ({ role: 'user' as const, id: `${at}`, text: '', documents: [], get isSending() { looks += 1; return at === 1; } }));
  const places = chat.questions.map((question) => {
    chat.versionsOf(question);
    return chat.unsaved.keyOf(question);
  });
  assert.deepEqual(places.slice(0, 4), [' 0', ' 1', ' 1', ' 2']);
  assert.ok(looks <= 4 * count, `${looks}`);
});
