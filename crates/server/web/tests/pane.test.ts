import assert from 'node:assert/strict';
import { test } from 'node:test';
// Lit has a document of its own where there is none yet.
import '../src/parts/pane.ts';
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
