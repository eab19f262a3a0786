import assert from 'node:assert/strict';
import { test } from 'node:test';
// Lit has a document of its own where there is none yet.
import 'lit';
import { define, turn } from './browser.ts';

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

test('an editor takes the words once with which its message could not be written anew', async () => {
  const { updated } = customElements.get('attache-message')?.prototype as unknown as { updated: (this: object, changed: Map<string, unknown>) => void };
  const edited: string[] = [];
  const unsaved = new Map([['one', { at: 0, words: 'Once more.' }]]);
  const stage = { chat: { unsaved, session: 'one' }, unsaved: 'Once more.', edit: (words: string) => edited.push(words), complete: () => undefined };
  updated.call(stage, new Map([['unsaved', undefined]]));
  updated.call(stage, new Map());
  assert.deepEqual([edited, unsaved.size], [['Once more.'], 0]);
});
