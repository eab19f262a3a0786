import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayAttach } from '../src/state/uploads.ts';

// The attribute `accept`: https://html.spec.whatwg.org/multipage/input.html#attr-input-accept
test('a file is attached by its type or by its ending', () => {
  const types = ['text/*', 'application/pdf', '.docx'];
  const may = (name: string, type = '') => mayAttach({ name, type }, types);
  assert.ok(may('a.md', 'text/markdown') && may('a.TXT', 'text/plain;charset=utf-8') && may('a.pdf', 'application/pdf'));
  assert.ok(may('Letter.DOCX') && may('letter.docx', 'application/octet-stream'));
  assert.ok(!may('a.png', 'image/png') && !may('a.zip', 'application/zip') && !may('film.mov') && !may('pdf', 'application/x-pdf'));
  // The server judges of what nothing is known of.
  assert.ok(may('Makefile'));
  for (const all of [[], ['*/*']]) {
    assert.ok(mayAttach({ name: 'a.zip', type: 'application/zip' }, all));
  }
});
