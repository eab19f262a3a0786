import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { UNKNOWN } from '../src/state/config.ts';
import { Uploads, mayAttach, offered } from '../src/state/uploads.ts';
import { turn } from './browser.ts';

// The attribute `accept`: https://html.spec.whatwg.org/multipage/input.html#attr-input-accept
test('a file is attached by its type or by its ending', () => {
  const types = ['text/*', 'application/pdf', '.docx'];
  const may = (name: string, type = '') => mayAttach({ name, type }, types);
  assert.ok(may('a.md', 'text/markdown') && may('a.TXT', 'text/plain;charset=utf-8') && may('a.pdf', 'application/pdf'));
  assert.ok(may('Letter.DOCX') && may('letter.docx', 'application/octet-stream'));
  assert.ok(!may('a.png', 'image/png') && !may('a.zip', 'application/zip'));
  // The server looks into what nothing is known of.
  assert.ok(may('Makefile') && may('film.mov'));
  for (const all of [[], ['*/*']]) {
    assert.ok(mayAttach({ name: 'a.zip', type: 'application/zip' }, all));
  }
});

// https://github.com/jshttp/mime-db has the types that systems give files by their endings.
test('a text is attached whatever its ending', () => {
  const types = ['text/*', '.txt', 'image/png'];
  for (const [name, type] of [['main.go', ''], ['Main.kt', ''], ['nginx.conf', ''], ['main.ts', 'video/mp2t'], ['run.sh', 'application/x-sh'], ['a.toml', 'application/toml']] as const) {
    assert.ok(mayAttach({ name, type }, types), name);
  }
  for (const [name, type] of [['a.jpg', 'image/jpeg'], ['a.mp4', 'video/mp4'], ['a.pdf', 'application/pdf'], ['a.zip', 'application/x-zip-compressed'], ['a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet']] as const) {
    assert.ok(!mayAttach({ name, type }, types), name);
  }
  assert.ok(!mayAttach({ name: 'run.sh', type: 'application/x-sh' }, ['application/pdf']));
  // A picker greys out what is not among its types.
  assert.deepEqual([types, ['*/*'], []].map(offered), ['', '', '']);
  assert.equal(offered(['application/pdf', '.pdf']), 'application/pdf,.pdf');
});

test('a file that the server does not take is told as one of another type', async () => {
  const refuse = { upload: () => Promise.reject(new Failure('no', 415, 'unsupported_media_type')) };
  const uploads = new Uploads(refuse as never, () => undefined);
  uploads.add([new File(['x'], 'dump.bin')], { ...UNKNOWN, uploadTypes: ['text/*'] });
  await turn();
  assert.deepEqual(uploads.all.map(({ problem }) => problem), ['wrongType']);
});
