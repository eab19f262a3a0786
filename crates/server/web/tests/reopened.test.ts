import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reopened } from '../src/state/reopened.ts';
import type { Answer, TextPart } from '../src/state/model.ts';
import { chatWith } from './browser.ts';

const user = { role: 'user', id: 'u', parts: [{ type: 'text', text: 'Pay it.' }] };
const call = (callId: string) => ({ type: 'call', callId, name: 'pay', arguments: { amount: 1 } });
const text = (words: string) => ({ type: 'text', text: words });
const says = (...parts: unknown[]) => ({ role: 'assistant', id: 'a', parts });
const paid = (callId: string) => ({ role: 'tool', results: [{ callId, name: 'pay', content: 'paid', disposition: 'executed' }] });
const shown = (value: unknown) => {
  const { messages, ...rest } = reopened(value, 'new');
  const last = messages.at(-1);
  const parts = last?.role === 'assistant' ? last.parts.map((part) => (part.kind === 'call' ? `${part.id} ${part.state}` : part.kind === 'text' ? part.text : part.kind)) : [];
  return { count: messages.length, state: last?.role === 'assistant' ? last.state : undefined, parts, ...rest, tail: rest.tail.length };
};

test('a conversation that has ended is shown as it is', () => {
  const told = { messages: [user, says(text('Done.'))], runs: [{ id: 'r', ended: 5 }] };
  assert.deepEqual(shown(told), { count: 2, state: 'done', parts: ['Done.'], runs: ['r'], open: '', tail: 0 });
  assert.deepEqual(shown({}), { count: 0, state: undefined, parts: [], runs: [], open: '', tail: 0 });
});

test('a text in pieces is one text, as it was while it came', () => {
  const thought = (words: string) => ({ type: 'thinking', text: words });
  const pieces = [thought('So'), thought('.'), text('The rent is '), text('900'), text('.'), call('c'), text('Done'), text('.')];
  const { messages } = reopened({ messages: [user, says(...pieces), says(text('Next.'))], runs: [] }, 'new');
  const parts = (messages[1] as Answer).parts.map((part) => [part.step, part.kind === 'call' ? part.id : (part as TextPart).text]);
  assert.deepEqual(parts, [[0, 'So.'], [0, 'The rent is 900.'], [0, 'c'], [0, 'Done.'], [1, 'Next.']]);
});

test('what an open run tells again is not shown twice', () => {
  const told = { messages: [user, says(call('c')), paid('c'), says(text('It is'))], runs: [{ id: 'r' }] };
  assert.deepEqual(shown(told), { count: 2, state: 'running', parts: ['c done'], runs: ['r'], open: 'r', tail: 1 });
});

test('a run of which no message is there yet has an answer that is empty', () => {
  assert.deepEqual(shown({ messages: [user], runs: [{ id: 'r' }] }), { count: 2, state: 'running', parts: [], runs: ['r'], open: 'r', tail: 0 });
});

test('a run that waits shows the call that somebody decides about', () => {
  const approvals = [{ approvalId: 'p', callId: 'c', name: 'pay', arguments: { amount: 1 } }];
  const told = { messages: [user, says(text('I ask. '), call('c'))], runs: [{ id: 'r' }], openRun: 'r', approvals };
  assert.deepEqual(shown(told), { count: 2, state: 'waiting', parts: ['I ask. ', 'c approval'], runs: ['r'], open: 'r', tail: 0 });
});

test('whoever decided about a call of the newest answer is told', () => {
  const decisions = [{ approvalId: 'p', callId: 'c', decision: { deny: 'too much' }, by: 'ann', at: 1_700_000_000_000 }];
  const told = { messages: [user, says(call('c')), paid('c'), says(text('No.'))], runs: [{ id: 'r', ended: 5 }], decisions };
  const last = reopened(told, 'new').messages.at(-1);
  const found = last?.role === 'assistant' ? last.parts.find((part) => part.kind === 'call') : undefined;
  assert.deepEqual(found?.kind === 'call' && found.decided, { decision: 'deny', text: 'too much', by: 'ann', at: 1_700_000_000_000 });
});

const answered = (told: unknown) =>
  reopened(told, 'new').messages.flatMap((message) => (message.role === 'assistant' ? message.parts : [])).flatMap((part) => (part.kind === 'call' ? [part] : []));
const result = (callId: string, disposition?: string) => ({ role: 'tool', results: [{ callId, name: 'pay', content: 'no', isError: true, disposition }] });

test('calls that nobody ran are reopened as what became of them', () => {
  const ends = ['denied', 'cancelled', 'interrupted', 'unknown', 'executed', undefined];
  const told = { messages: ends.flatMap((end, at) => [user, says(call(`c${at}`)), result(`c${at}`, end)]), runs: [] };
  assert.deepEqual(answered(told).map(({ state }) => state), ['denied', 'cancelled', 'cancelled', 'failed', 'failed', 'failed']);
});

test('decisions of all runs are told, and a call that somebody denied has not failed', () => {
  const decisions = [
    { runId: 'r1', approvalId: 'p', callId: 'c1', decision: { deny: 'too much' }, by: 'ann', at: 1 },
    { runId: 'r2', approvalId: 'q', callId: 'c2', decision: 'approve', by: 'ben', at: 2 },
  ];
  const told = { messages: [user, says(call('c1')), result('c1'), user, says(call('c2')), paid('c2'), user, says(call('c3')), result('c3')], runs: [], decisions };
  assert.deepEqual(answered(told).map(({ state, decided }) => [state, decided?.by]), [['denied', 'ann'], ['done', 'ben'], ['failed', undefined]]);
});

test('an answer that words of the user part is shown once while its run goes on', async () => {
  const of = (message: object) => ({ ...message, runId: 'r' });
  // Messages of the user tell no run.
  const messages = [user, ...[says(text('I look. '), call('c1')), paid('c1')].map(of), { ...user, id: 'u2', isAside: true, parts: [text('And the other.')] }, ...[{ ...says(text('I look again. '), call('c2')), id: 'a2' }, paid('c2')].map(of)];
  const block = (step: number, words: string) => ({ ...text(words), step });
  const blocks = [block(0, 'I look. '), { ...call('c1'), step: 0 }, block(1, 'I look again. '), { ...call('c2'), step: 1 }, block(2, 'It is')];
  const from: string[] = [];
  const { chat, asked } = chatWith(
    (_method, path, body) => (path.endsWith('/fork') ? { id: 'f', from: from.push((body as { before: string }).before) } : { messages, runs: [{ id: 'r' }], openRun: 'r', runId: 'r2' }),
    async function* () {
      yield { type: 'snapshot', state: 'running', step: 2, blocks };
      yield { type: 'text', step: 2, delta: ' paid.' };
      yield { type: 'finished', reason: 'answer' };
    },
  );
  await chat.open('s');
  for (let at = 0; at < 50 && chat.last?.state !== 'done'; at += 1) {
    await new Promise((next) => setImmediate(next));
  }
  const parts = chat.messages.map((message) => (message.role === 'user' ? message.text : message.parts.map((part) => (part.kind === 'call' ? part.id : part.kind === 'text' ? part.text : part.kind))));
  assert.deepEqual(parts, ['Pay it.', ['I look. ', 'c1'], 'And the other.', ['I look again. ', 'c2', 'It is paid.']]);
  // To answer again is to answer the question, not what was said meanwhile.
  await chat.again(chat.last as Answer);
  assert.deepEqual(asked.filter((each) => each.startsWith('POST')), ['POST /v1/sessions/s/fork', 'POST /v1/sessions/f/runs Pay it.']);
  assert.deepEqual(from, ['u']);
});
