import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentence } from '../src/parts/note.ts';
import { en } from '../src/words/en.ts';
import { later } from '../src/words/later.ts';
import { Speech } from '../src/words/words.ts';

Object.assign(en, later);
const say = (note: object) => sentence(note, new Speech());

test('notes of the reader have their words, with what stands in them', () => {
  assert.equal(say({ kind: 'without_text', text: '', unit: 'sheet', numbers: [1, 3, 4, 5, 9] }), 'No text (Sheet 1, 3–5, 9)');
  assert.equal(say({ kind: 'parts_left_out', text: '', unit: 'document', numbers: [1] }), 'Parts that are too large or damaged are left out');
  assert.equal(say({ kind: 'units_left_out', text: '', unit: 'page', shown: 2000, total: 3000 }), 'Only the first 2,000 of 3,000 are shown');
  assert.equal(say({ kind: 'rows_left_out', text: '', shown: 5 }), 'Only the first 5 are shown; there are more');
  assert.equal(say({ kind: 'not_shown', text: '', what: 'image', count: 1 }), 'Not shown: 1 image');
  assert.equal(say({ kind: 'not_shown', text: '', what: 'signature', count: 2 }), 'Not shown: 2 other parts');
  assert.equal(say({ kind: 'charset', text: '', name: 'windows-1252' }), 'Read as windows-1252 (guessed)');
  assert.equal(say({ kind: 'text_cut', text: '', limit: 2000000 }), 'The text is cut after 2 MB');
});

test('a note of a kind that is not known is as the server says it', () => {
  assert.equal(say({ kind: 'other', text: 'the ink is faint' }), 'the ink is faint');
});
