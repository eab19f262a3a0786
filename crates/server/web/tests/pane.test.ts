import assert from 'node:assert/strict';
import { test } from 'node:test';
// Lit has a document of its own where there is none yet.
import '../src/parts/pane.ts';
import { decoded, quoted, rows, type Table } from '../src/parts/passage.ts';
import { define, turn } from './browser.ts';

type Load = (this: object, image: object) => Promise<void>;

test('the size of a page that was asked for last is shown, whichever comes last', async () => {
  const { loadPage, url } = customElements.get('attache-pane')?.prototype as unknown as { loadPage: Load; url: unknown };
  const open = new Set<string>();
  define('URL', { createObjectURL: (blob: string) => (open.add(`blob:${blob}`), `blob:${blob}`), revokeObjectURL: (url: string) => open.delete(url) });
  const comes = new Map<string, () => void>();
  const bytes = (source: string) => new Promise((end) => comes.set(source, () => end(source)));
  const pane = { urls: [] as string[], url, chat: { client: { bytes } }, showAreas: async () => undefined };
  const image = { dataset: { src: 'small', loaded: '' }, src: '', decode: async () => undefined };
  const load = (source: string) => {
    image.dataset.src = source;
    void loadPage.call(pane, image);
  };
  load('small');
  load('large');
  for (const source of ['large', 'small']) {
    comes.get(source)?.();
    await turn();
    assert.equal(image.src, 'blob:large', `after ${source}`);
  }
  load('larger');
  comes.get('larger')?.();
  await turn();
  assert.equal(image.src, 'blob:larger');
  // Nothing is held of the image before.
  assert.deepEqual([...open], ['blob:larger']);
  assert.deepEqual(pane.urls, ['blob:larger']);
});

// The bytes are those that the encodings of https://encoding.spec.whatwg.org give these words.
test('tables are read in the encoding in which they were written', () => {
  const read = (...bytes: number[]) => decoded(new Uint8Array(bytes).buffer);
  assert.equal(read(0x4d, 0xc3, 0xbc, 0x6c, 0x6c), 'Müll');
  assert.equal(read(0xef, 0xbb, 0xbf, 0x4d), 'M');
  assert.equal(read(0x4d, 0xfc, 0x6c, 0x6c), 'Müll');
  assert.equal(read(0xff, 0xfe, 0x4d, 0x00, 0xfc, 0x00), 'Mü');
  assert.equal(read(0xfe, 0xff, 0x00, 0x4d, 0x00, 0xfc), 'Mü');
  assert.equal(read(), '');
});

test('the rows of a table that a quote is of are known, with what stands between their cells', () => {
  const text = 'date,supplier,net\n2026-03-11,"Cabs, Harbour",64.00\n\n2026-03-12,Northgate Rail,188.00\n2026-03-13,Cabs,64.00\n';
  const { rows: all, ends } = rows(text, 10);
  assert.equal(all.length, 4);
  const cited = (quote: string | undefined) => quoted(text, ends, quote).flatMap((is, at) => (is ? [at] : []));
  assert.deepEqual(cited('2026-03-12,Northgate Rail,188.00'), [2]);
  assert.deepEqual(cited('2026-03-11,"Cabs, Harbour",64.00'), [1]);
  assert.deepEqual(cited('Northgate Rail,188.00\n2026-03-13,Cabs,64.00'), [2, 3]);
  assert.deepEqual(cited('date,supplier,net'), [0]);
  assert.deepEqual(cited('Southgate'), []);
  assert.deepEqual(cited(undefined), []);
});

test('the cited rows of a table are looked for once, among those that are shown', () => {
  type Made = { willUpdate(this: object, changed: Map<string, unknown>): void; tableView(this: object, table: Table): unknown };
  const { willUpdate, tableView } = customElements.get('attache-pane')?.prototype as unknown as Made;
  const text = `city,net\nBerlin,5\nKiel,6\n${'Ulm,7\n'.repeat(1000)}`;
  let looks = 0;
  const preview = { kind: 'table', ...rows(text, 3), get text() { looks += 1; return text; } };
  const pane = { opening: { citation: { quote: 'Kiel,6', isFaithful: true } }, preview, cited: [] as boolean[], places: new Map(), loadAreas: async () => undefined, say: String, passage: () => '' };
  willUpdate.call(pane, new Map([['preview', undefined]]));
  for (const _ of [1, 2, 3]) {
    tableView.call(pane, preview);
  }
  assert.equal(looks, 1);
  assert.deepEqual(pane.cited, [false, false, true]);
  assert.deepEqual(quoted(text, preview.ends, 'Ulm,7'), [false, false, false]);
});

test('the cited words of a text are looked for once', () => {
  type Made = { willUpdate(this: object, changed: Map<string, unknown>): void; textView(this: object, pages: object[], unit: string): unknown };
  const { willUpdate, textView } = customElements.get('attache-pane')?.prototype as unknown as Made;
  const pages = [{ number: 1, text: 'Berlin, Kiel' }];
  const preview = { kind: 'text', pages, isWhole: true, unit: 'document', notes: [] };
  const pane = { opening: { citation: { quote: 'Kiel', isFaithful: true } }, preview, chat: {}, places: new Map(), loadAreas: async () => undefined };
  willUpdate.call(pane, new Map([['preview', undefined]]));
  textView.call(pane, pages, 'document');
  const { toLowerCase } = String.prototype;
  let folds = 0;
  String.prototype.toLowerCase = function () {
    folds += 1;
    return toLowerCase.call(this);
  };
  textView.call(pane, pages, 'document');
  String.prototype.toLowerCase = toLowerCase;
  assert.equal(folds, 0);
});
