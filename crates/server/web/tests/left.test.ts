// Words in a conversation that somebody has left before it was known what became of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import { chatWith, turn } from './browser.ts';
import { held, never, offline, part, storage, waits } from './stages.ts';

test('words that did not arrive wait in their conversation although somebody looks at another one', async () => {
  for (const session of ['one', '']) {
    storage();
    const { chat, waiting } = held((asked) => asked.endsWith('/runs'));
    chat.session = session;
    void chat.send('Mine.');
    await turn();
    await chat.open('two');
    waiting[0]?.fail(offline());
    await turn();
    assert.deepEqual([chat.session, waits(chat)], ['two', []]);
    await chat.open(session);
    assert.deepEqual(waits(chat), ['Mine.'], session);
    chat.close();
  }
});

test('words that somebody has stopped do not wait', async () => {
  storage();
  const { chat, waiting } = held((asked) => asked.endsWith('/runs'));
  chat.session = 'one';
  void chat.send('Mine.');
  await turn();
  await chat.stop();
  waiting[0]?.fail(offline());
  await turn();
  await chat.open('two');
  await chat.open('one');
  assert.deepEqual(waits(chat), []);
});

test('words for a run that did not arrive wait in their conversation', async () => {
  storage();
  const { chat, waiting } = held((asked) => asked.endsWith('/messages'), (asked) => (asked.endsWith('/runs') ? { runId: 'r' } : { messages: [], runs: [], sessions: [] }));
  chat.session = 'one';
  void chat.send('first');
  await turn();
  void chat.send('second');
  void chat.interject(chat.queue[0]?.id ?? 0);
  await turn();
  await chat.open('two');
  waiting[0]?.fail(offline());
  await turn();
  assert.deepEqual(waits(chat), []);
  await chat.open('one');
  assert.deepEqual(waits(chat), ['second']);
});

test('words that a run did not come to read wait again in a view that was made anew, and after its events are gone', async () => {
  for (const isGone of [false, true]) {
    storage();
    let tell: (event: object) => void = () => undefined;
    const messages = [{ role: 'user', id: 'u', parts: part('first') }];
    const { chat } = chatWith(
      (method, path) => {
        if (method === 'POST') {
          return path.endsWith('/runs') ? { runId: 'r' } : {};
        }
        return path.startsWith('/v1/runs/') ? { outcome: { reason: 'cancelled', unread: ['second', 'theirs'] } } : { messages, runs: [{ id: 'r' }], openRun: 'r', sessions: [] };
      },
      async function* (_path, signal) {
        const event = await Promise.race([new Promise<object>((end) => (tell = end)), never(signal)]);
        if (isGone) {
          throw new Failure('', 410, 'gone');
        }
        yield event;
      },
    );
    chat.session = 'one';
    void chat.send('first');
    await turn();
    void chat.send('second');
    await chat.interject(chat.queue[0]?.id ?? 0);
    await chat.open('two');
    await chat.open('one');
    await turn();
    tell({ type: 'finished', reason: 'cancelled', error: { message: 'cancelled' }, unread: ['second', 'theirs'] });
    await turn();
    assert.deepEqual(waits(chat), ['second'], String(isGone));
    chat.close();
  }
});

test('a question that failed waits in its conversation, and in a new one if there is none yet', async () => {
  for (const [isThere, session] of [[true, 'one'], [false, '']] as const) {
    storage();
    let isDown = !isThere;
    const told = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', parts: part('It is.') }];
    const { chat, asked } = chatWith(
      (method, path) => {
        if (isDown && method === 'POST') {
          throw offline();
        }
        return method === 'POST' ? { runId: 'r' } : path.endsWith('/one') ? { messages: told, runs: [{ id: 'r', ended: 5 }] } : { messages: [], runs: [], sessions: [] };
      },
      async function* () {
        yield { type: 'finished', reason: 'answer' };
      },
    );
    chat.session = session;
    isThere && (await chat.send('first'));
    isDown = true;
    await chat.send('Mine.');
    assert.equal(chat.last?.state, 'failed');
    await chat.open('two');
    assert.deepEqual(waits(chat), []);
    await chat.open(session);
    // It may be on its way: nobody says it by itself.
    assert.deepEqual([waits(chat), chat.queue[0]?.isHeld], [['Mine.'], true], session);
    isDown = false;
    await chat.interject(chat.queue[0]?.id ?? 0);
    assert.deepEqual([waits(chat), asked.filter((each) => each.endsWith('/runs Mine.')).length], [[], 2]);
    chat.close();
  }
});

test('a question that failed here and has arrived does not wait', async () => {
  storage();
  const told = [{ role: 'user', id: 'u', parts: part('Mine.') }, { role: 'assistant', id: 'a', parts: part('It is.') }];
  const { chat } = held(() => false, (asked) => {
    if (asked.startsWith('POST')) {
      throw offline();
    }
    return { messages: told, runs: [{ id: 'r', ended: 5 }], sessions: [] };
  });
  await chat.open('one');
  // The same words again are another question.
  await chat.send('Mine.');
  await chat.open('two');
  await chat.open('one');
  assert.deepEqual(waits(chat), ['Mine.']);
  await chat.open('two');
  told.push({ role: 'user', id: 'u2', parts: part('Mine.') }, { role: 'assistant', id: 'a2', parts: part('It was.') });
  await chat.open('one');
  assert.deepEqual([waits(chat), chat.questions.length], [[], 2]);
});

test('the words of a message that could not be written anew are there for its editor, also in a conversation that was left', async () => {
  for (const isLeft of [true, false]) {
    for (const fails of [true, false]) {
      storage();
      const { chat, waiting } = held((asked) => asked === 'POST /v1/sessions/one/fork', (asked) =>
        asked.endsWith('/one') ? { messages: ['first', 'second'].map((text) => ({ role: 'user', id: text, parts: part(text) })), runs: [] } : { messages: [], runs: [], sessions: [] });
      await chat.open('one');
      const edited = chat.edit(chat.questions[1] as never, 'Once more.');
      await turn();
      isLeft && (await chat.open('two'));
      fails ? waiting[0]?.fail(offline()) : waiting[0]?.settle({ id: 'fork' });
      const isMade = await Promise.race([edited, turn()]);
      isLeft && (await chat.open('one'));
      const words = chat.questions.map((question) => chat.unsaved.of(question));
      assert.deepEqual(words, isLeft || fails ? [undefined, 'Once more.'] : [undefined, undefined], `${isLeft} ${fails} ${isMade}`);
      chat.close();
    }
  }
});

test('words with which two messages of a conversation could not be written anew are there for both editors', async () => {
  storage();
  const { chat, waiting } = held((asked) => asked === 'POST /v1/sessions/one/fork', () => ({ messages: ['first', 'second'].map((text) => ({ role: 'user', id: text, parts: part(text) })), runs: [], sessions: [] }));
  await chat.open('one');
  for (const [at, words] of ['One.', 'Two.'].entries()) {
    void chat.edit(chat.questions[at] as never, words);
    await turn();
  }
  await chat.open('two');
  waiting.forEach(({ fail }) => fail(offline()));
  await turn();
  await chat.open('one');
  assert.deepEqual(chat.questions.map((question) => chat.unsaved.of(question)), ['One.', 'Two.']);
  chat.close();
});

test('questions that failed behind one that is written anew wait', async () => {
  storage();
  let isDown = false;
  const { chat } = held(() => false, (asked) => {
    if (isDown) {
      throw offline();
    }
    return asked.endsWith('/fork') ? { id: 'fork' } : asked.startsWith('POST') ? { runId: 'r' } : { messages: ['first'].map((text) => ({ role: 'user', id: text, parts: part(text) })), runs: [], sessions: [] };
  });
  await chat.open('one');
  isDown = true;
  await chat.send('Mine.');
  isDown = false;
  void chat.edit(chat.questions[0] as never, 'Once more.');
  await turn();
  assert.deepEqual([chat.session, chat.questions.map(({ text }) => text), waits(chat), chat.queue[0]?.isHeld], ['fork', ['Once more.'], ['Mine.'], true]);
  chat.close();
});
