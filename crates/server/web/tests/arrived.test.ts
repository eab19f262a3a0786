// Words that may have arrived are not said again by themselves, and headers of before spoil nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Failure } from '../src/api/client.ts';
import { chatWith, define, turn } from './browser.ts';
import { answered, busy, held, never, offline, part, storage, waits } from './stages.ts';

test('words that may have arrived are said by hand alone, and those that were refused by themselves', async () => {
  for (const [failure, isSaid] of [[offline(), false], [new Failure('', 502, '502'), false], [new SyntaxError('no JSON'), false], [new Failure('', 429, 'rate_limited'), true], [busy(), true]] as const) {
    storage();
    const { chat, asked, waiting } = held((asked) => asked === 'POST /v1/sessions/one/runs' && waiting.length === 0, (asked) =>
      asked.startsWith('POST') ? { runId: 'r' } : { messages: [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', parts: part('It is.') }], runs: [{ id: 'r', ended: 5 }], sessions: [] });
    chat.session = 'one';
    void chat.send('Mine.');
    await turn();
    await chat.open('two');
    waiting[0]?.fail(failure);
    await turn();
    await chat.open('one');
    await turn();
    const said = () => asked.filter((each) => each.endsWith('/runs Mine.')).length;
    assert.deepEqual([said(), waits(chat)], isSaid ? [2, []] : [1, ['Mine.']], String(failure.message || (failure as Failure).status));
    if (!isSaid) {
      void chat.interject(chat.queue[0]?.id ?? 0);
      await turn();
      assert.deepEqual([said(), waits(chat)], [2, []]);
    }
    chat.close();
  }
});

test('words for a run that may have arrived are not said again once it has ended', async () => {
  storage();
  let tell: (event: object) => void = () => undefined;
  const { chat, asked } = chatWith(
    (_method, path) => {
      if (path.endsWith('/messages')) {
        throw offline();
      }
      return path.endsWith('/runs') ? { runId: 'r' } : { sessions: [] };
    },
    async function* (_path, signal) {
      yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
    },
  );
  void chat.send('first');
  await turn();
  void chat.send('second');
  await chat.interject(chat.queue[0]?.id ?? 0);
  // It has arrived, and the run says so: it waits once.
  tell({ type: 'finished', reason: 'answer', unread: ['second'] });
  await turn();
  assert.deepEqual([waits(chat), asked.filter((each) => each.endsWith('/runs second'))], [['second'], []]);
  chat.close();
});

test('words that could not be said to a run leave the others that were said to it', async () => {
  storage();
  let tell: (event: object) => void = () => undefined;
  let isDown = false;
  const messages = [{ role: 'user', id: 'u', parts: part('first') }];
  const { chat } = chatWith(
    (method, path) => {
      if (path.endsWith('/messages') && isDown) {
        throw busy();
      }
      return method === 'POST' ? (path.endsWith('/runs') ? { runId: 'r' } : {}) : { messages, runs: [{ id: 'r' }], openRun: 'r', sessions: [] };
    },
    async function* (_path, signal) {
      yield await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
    },
  );
  chat.session = 'one';
  void chat.send('first');
  await turn();
  for (const words of ['second', 'third']) {
    void chat.send(words);
    await chat.interject(chat.queue[0]?.id ?? 0);
    isDown = true;
  }
  assert.deepEqual(waits(chat), ['third']);
  await chat.open('one');
  await turn();
  tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' }, unread: ['second'] });
  await turn();
  assert.deepEqual(waits(chat), ['second', 'third']);
  chat.close();
});

test('a question that has arrived does not wait, whatever else failed or was said to the run before it', async () => {
  const { chat, asked, heard, all, server } = await answered();
  server.isDown = true;
  await chat.send('Lost.');
  await chat.send('Mine.');
  server.isDown = false;
  all.push({ role: 'user', id: 'u2', parts: part('Mine.') }, { role: 'assistant', id: 'a2', runId: 'r2', parts: part('It was.') });
  heard('s');
  await turn();
  assert.deepEqual([chat.questions.map(({ text }) => text), waits(chat)], [['first', 'Mine.'], ['Lost.']]);
  assert.equal(asked.filter((each) => each.endsWith('/runs Mine.')).length, 1);
});

test('a request that was refused with other headers is sent again with those of now', async () => {
  define('location', { href: 'http://here/' });
  const client = new Client('');
  client.headers = { Authorization: 'Bearer old' };
  const keys: (string | null)[] = [];
  define('fetch', async (_url: string, { headers }: { headers: Headers }) => {
    keys.push(headers.get('Authorization'));
    client.headers = { Authorization: 'Bearer new' };
    return keys.length === 1 ? new Response('', { status: 401 }) : Response.json({ isTaken: true });
  });
  assert.deepEqual(await client.ask('GET', '/v1/chat/config'), { isTaken: true });
  assert.deepEqual(keys, ['Bearer old', 'Bearer new']);
});

test('an upload that was refused with other headers is sent again with those of now, if there are any', async () => {
  define('location', { href: 'http://here/' });
  for (const [renewed, expected] of [['Bearer new', ['Bearer old', 'Bearer new']], [undefined, ['Bearer old']]] as const) {
    const client = new Client('');
    client.headers = { Authorization: 'Bearer old' };
    const keys: string[] = [];
    class Request {
      upload = {};
      status = 0;
      responseText = '{"id":"d"}';
      onload = () => undefined;
      key = '';
      open() {}
      setRequestHeader(name: string, value: string) {
        this.key = name.toLowerCase() === 'authorization' ? value : this.key;
      }
      getResponseHeader = () => null;
      send() {
        keys.push(this.key);
        client.headers = renewed ? { Authorization: renewed } : client.headers;
        this.status = this.key === 'Bearer new' ? 201 : 401;
        this.onload();
      }
    }
    define('XMLHttpRequest', Request);
    const sent = client.upload('/v1/documents', new Blob(['x']), () => undefined, new AbortController().signal);
    await (renewed ? sent.then((told) => assert.deepEqual(told, { id: 'd' })) : assert.rejects(sent, { status: 401 }));
    assert.deepEqual(keys, expected);
  }
});

test('an upload that was removed while its headers were on their way is not sent', async () => {
  define('location', { href: 'http://here/' });
  let settle: (headers: Record<string, string>) => void = () => undefined;
  const client = new Client('');
  client.headers = () => new Promise((end) => (settle = end));
  define('XMLHttpRequest', class {
    constructor() {
      assert.fail('it is sent');
    }
  });
  const removed = new AbortController();
  const sent = client.upload('/v1/documents', new Blob(['x']), () => undefined, removed.signal);
  removed.abort();
  settle({});
  await assert.rejects(sent, { name: 'AbortError' });
});
