import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Failure } from '../src/api/client.ts';
import { UNKNOWN } from '../src/state/config.ts';
import { type Upload, Uploads, mayAttach, offered, problemOf } from '../src/state/uploads.ts';
import { en } from '../src/words/en.ts';
import { later } from '../src/words/later.ts';
import { Speech } from '../src/words/words.ts';
import { define, turn } from './browser.ts';

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

/** Files on their way to a server that says of each what the test says. */
function stage(answer: (name: string) => unknown) {
  const failures: unknown[] = [];
  const upload = async (path: string) => answer(new URL(path, 'http://here').searchParams.get('name') ?? '');
  const uploads = new Uploads({ upload } as never, () => undefined, (error) => failures.push(error));
  const add = async (...names: string[]) => {
    const ids = uploads.add(names.map((name) => new File(['x'], name)), UNKNOWN);
    await turn();
    return ids;
  };
  return { uploads, add, failures, names: () => uploads.all.map(({ name }) => name) };
}

test('only the files that are sent go away', async () => {
  const { uploads, add, names } = stage((name) => (name === 'bad.txt' ? Promise.reject(new Failure('', 0, 'offline')) : name === 'slow.txt' ? new Promise(() => undefined) : { id: name }));
  const ids = await add('good.txt', 'bad.txt', 'slow.txt');
  assert.equal(ids.length, 3);
  // Something that is said without files leaves them all.
  uploads.clear([]);
  assert.deepEqual(names(), ['good.txt', 'bad.txt', 'slow.txt']);
  uploads.clear(uploads.documents);
  assert.deepEqual(names(), ['bad.txt', 'slow.txt']);
  uploads.clear();
  assert.deepEqual(names(), []);
});

test('a file that was not taken says what the server says where its code has no sentence, and a key is asked for where one is needed', async () => {
  const failure = new Failure('the name is too long', 400, 'invalid_request');
  const { uploads, add, failures } = stage(() => Promise.reject(failure));
  await add('a.txt');
  assert.equal(problemOf(uploads.all[0] as Upload, new Speech(), UNKNOWN), 'a.txt was not uploaded. the name is too long');
  assert.deepEqual(failures, [failure]);
});

test('an upload that something in between answers fails, and ends', async () => {
  class Request {
    upload = {};
    status = 200;
    responseText = '<html>';
    onload = () => undefined;
    open() {}
    setRequestHeader() {}
    getResponseHeader() {}
    send() {
      setTimeout(() => this.onload());
    }
  }
  define('XMLHttpRequest', Request);
  define('location', { href: 'http://here/' });
  const client = new Client('');
  await assert.rejects(client.upload('/v1/documents', new Blob(['x']), () => undefined, new AbortController().signal), Failure);
});

test('a failure of the server is told in a sentence of the page, and a file that is too large for it as one', async () => {
  Object.assign(en, later);
  const failures = [new Failure('the server failed', 500, 'internal'), new Failure('the body has more than 5 bytes', 413, 'too_large')];
  const uploads = new Uploads({ upload: () => Promise.reject(failures.shift()) } as never, () => undefined);
  uploads.add([new File(['x'], 'one.txt'), new File(['x'], 'two.txt')], UNKNOWN);
  await turn();
  const config = { ...UNKNOWN, uploadBytes: 5 };
  assert.deepEqual(uploads.all.map((upload) => problemOf(upload, new Speech(), config)), ['one.txt was not uploaded. The server failed.', 'two.txt is larger than 5 bytes.']);
});

test('an empty file is told in a sentence, and no request is made for it', () => {
  const uploads = new Uploads({ upload: () => assert.fail('it is not sent') } as never, () => undefined);
  uploads.add([new File([], 'empty.pdf', { type: 'application/pdf' })], UNKNOWN);
  assert.equal(problemOf(uploads.all[0] as Upload, new Speech(), UNKNOWN), 'empty.pdf is empty.');
});
