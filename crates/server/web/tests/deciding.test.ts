import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../src/api/client.ts';
import type { Answer, Call } from '../src/state/model.ts';
import { Client } from '../src/api/client.ts';
import { parse, stringify } from '../src/api/json.ts';
import { edited, editor } from '../src/parts/arguments.ts';
import { valueText } from '../src/parts/value.ts';
import { chatWith, define, turn } from './browser.ts';

/** A session whose run waits for decisions about calls, and what the chat asks of the server. */
function stage(...waiting: string[]) {
  const decisions = new Map<string, { settle: () => void; fail: (error: unknown) => void }>();
  let isWaiting = true;
  let runs = 0;
  const approvals = waiting.map((id) => ({ approvalId: id, callId: `call-${id}`, name: 'pay', arguments: {} }));
  const { chat, asked } = chatWith(
    (_method, path) => {
      const [, , kind, id] = path.split('/');
      if (kind === 'approvals') {
        return new Promise((settle, fail) => decisions.set(id as string, { settle: () => settle({ decision: 'approve' }), fail }));
      }
      if (path.endsWith('/runs')) {
        return { runId: `r${(runs += 1)}` };
      }
      if (kind === 'sessions' && id === 'first') {
        const parts = waiting.map((each) => ({ type: 'call', callId: `call-${each}`, name: 'pay', arguments: {} }));
        const messages = [{ role: 'user', id: 'u', parts: [{ type: 'text', text: 'Pay.' }] }, { role: 'assistant', id: 'a', parts }];
        return isWaiting ? { messages, runs: [{ id: 'r' }], openRun: 'r', approvals } : { messages, runs: [{ id: 'r', ended: 5 }] };
      }
      return { messages: [], runs: [], sessions: [] };
    },
    async function* (_path, signal) {
      if (isWaiting) {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }
      yield { type: 'finished', reason: 'done', outcome: { reason: 'done' } };
    },
  );
  const open = async (id: string) => {
    await chat.open(id);
    await turn();
  };
  const decide = (id: string) => {
    const call = chat.last?.parts.find((part) => part.kind === 'call' && part.approval?.id === id);
    assert.ok(call?.kind === 'call' && call.approval, id);
    return chat.decide(call.approval, { decision: 'approve' });
  };
  const said = () => asked.filter((each) => /^POST .*\/runs /.test(each)).map((each) => each.replace('POST /v1/sessions/', '').replace('/runs', ''));
  /** The run ends, and whoever looks at it hears so. */
  const end = () => (isWaiting = false);
  return { chat, open, decide, decisions, said, end };
}

test('a decision that is on its way holds up its own session alone', async () => {
  const { chat, open, decide, decisions, said, end } = stage('p');
  await open('first');
  const decided = decide('p');
  await open('second');
  void chat.send('hello');
  await turn();
  assert.deepEqual(said(), ['second hello']);
  assert.deepEqual(chat.queue, []);
  end();
  decisions.get('p')?.settle();
  await decided;
});

test('of two decisions at once the first to settle lets nobody through', async () => {
  const { chat, open, decide, decisions, said, end } = stage('p', 'q');
  await open('first');
  const both = [decide('p'), decide('q')];
  decisions.get('p')?.settle();
  await both[0];
  void chat.send('hello');
  await turn();
  assert.deepEqual(said(), []);
  assert.equal(chat.queue.length, 1);
  // Nor is it said by hand: the server would refuse it.
  await chat.interject(chat.queue[0]?.id ?? 0);
  assert.deepEqual(said(), []);
  assert.equal(chat.queue.length, 1);
  end();
  decisions.get('q')?.settle();
  await both[1];
  await turn();
  assert.deepEqual(said(), ['first hello']);
  assert.deepEqual(chat.queue, []);
});

test('what waits behind a decision that somebody else has made is said', async () => {
  const { chat, open, decide, decisions, said, end } = stage('p');
  await open('first');
  const decided = decide('p');
  void chat.send('hello');
  await turn();
  assert.equal(chat.queue.length, 1);
  end();
  decisions.get('p')?.fail(new Failure('', 409, 'decided'));
  await decided;
  await turn();
  assert.deepEqual(said(), ['first hello']);
  assert.deepEqual(chat.queue, []);
});

test('what waits behind a decision that failed stays, and can be said by hand', async () => {
  const { chat, open, decide, decisions, said } = stage('p');
  await open('first');
  const decided = decide('p');
  void chat.send('hello');
  decisions.get('p')?.fail(new Failure('', 0, 'offline'));
  await decided;
  await turn();
  assert.deepEqual(said(), []);
  void chat.interject(chat.queue[0]?.id ?? 0);
  await turn();
  assert.deepEqual(said(), ['first hello']);
});

test('an answer to a question that was not taken is told, and one of the page that came too late is not', async () => {
  const { chat } = chatWith(
    (_method, path) => {
      if (path.endsWith('/tool-result')) {
        throw new Failure('the call takes no result', 409, 'answered');
      }
      return { messages: [], runs: [], sessions: [] };
    },
    async function* () {},
  );
  await chat.deliver('call', 'from the page');
  assert.equal(chat.problem, undefined);
  await chat.reply('call', '2026');
  assert.equal(chat.problem, 'the call takes no result');
});

/** A run that waits for the answer to a question of a tool, which goes on once it has one. */
function asking() {
  const waits = { type: 'snapshot', state: 'waiting', step: 0, blocks: [{ type: 'call', step: 0, callId: 'q', name: 'year' }], deferred: [{ callId: 'q', name: 'year', prompt: 'Which year?' }], end: { type: 'paused' } };
  let isAnswered = false;
  return chatWith(
    (method, path) => {
      isAnswered ||= path.endsWith('/tool-result');
      return method === 'POST' && path.endsWith('/runs') ? { runId: 'r' } : { sessions: [] };
    },
    async function* () {
      yield isAnswered ? { type: 'finished', reason: 'answer' } : waits;
    },
  );
}
const states = ({ messages }: { messages: readonly unknown[] }) =>
  messages.flatMap((message) => (message as Answer).parts ?? []).flatMap((part) => (part.kind === 'call' ? [part.state] : []));

test('an answer to a question of a tool lets the run go on at once', async () => {
  for (const act of ['reply', 'skip'] as const) {
    const { chat, signals, asked } = asking();
    await chat.send('Order.');
    assert.deepEqual([states(chat), chat.last?.state], [['question'], 'waiting']);
    // A reader who does not see the page hears it.
    assert.equal(chat.announced, 'Waits for an answer: Which year?');
    const call = chat.last?.parts[0] as Call;
    await (act === 'reply' ? chat.reply('q', '2026') : chat.skip(call));
    assert.equal(signals.length, 2, act);
    assert.equal(chat.last?.state, 'done', act);
    assert.equal(asked.filter((each) => each.endsWith('/tool-result')).length, 1);
  }
});

test('a question of a tool that another message has ended is answered by nobody', async () => {
  const { chat } = asking();
  await chat.send('Order.');
  await chat.send('Never mind.');
  assert.deepEqual(states(chat), ['cancelled', 'question']);
  chat.close();
});

/** The texts and values of a template, one behind the other. */
const written = (made: unknown): string => {
  const { strings, values } = (made ?? {}) as { strings?: string[]; values?: unknown[] };
  return strings ? strings.map((text, at) => text + written(values?.[at])).join('') : Array.isArray(made) ? made.map(written).join('') : typeof made === 'symbol' ? '' : String(made ?? '');
};

test('the numbers of a call are shown and sent as the model wrote them', async () => {
  const bodies: unknown[] = [];
  define('location', { href: 'http://localhost/' });
  define('fetch', async (_url: string, { body }: { body?: string }) => {
    bodies.push(body);
    return new Response('{"account":9007199254740993,"rates":[0.12345678901234567890, 1],"amount":10,"id":"9007199254740993"}');
  });
  const client = new Client('');
  const args = await client.ask('GET', '/v1/approvals');
  assert.equal(valueText(args).replace(/\s/g, ''), '{"account":9007199254740993,"rates":[0.12345678901234567890,1],"amount":10,"id":"9007199254740993"}');
  const speech = { say: (word: string) => word } as never;
  assert.match(written(editor(args, new Map(), speech, () => undefined)), /type="number"[^>]*9007199254740993/);
  await client.ask('POST', '/v1/approvals/p', { decision: 'edit', arguments: edited(args, new Map([['amount', '20']])) });
  assert.equal(bodies[1], '{"decision":"edit","arguments":{"account":9007199254740993,"rates":[0.12345678901234567890,1],"amount":20,"id":"9007199254740993"}}');
  // Nor does a number lose its digits that somebody writes.
  assert.equal(stringify(edited(args, new Map([['account', '9007199254740995']]))).slice(0, 27), '{"account":9007199254740995');
  // Others that read it have a number.
  assert.equal(JSON.stringify(parse('[9007199254740993, 1234567890123456, -12345678901234567]')), '[9007199254740992,1234567890123456,-12345678901234568]');
  assert.deepEqual(parse('{"a":"\\"9007199254740993\\\\","b":"12345678901234567e9"}'), { a: '"9007199254740993\\', b: '12345678901234567e9' });
});
