import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { messages } from '../src/api/read.ts';
import { type Answer, type Call, newAnswer } from '../src/state/model.ts';
import { apply } from '../src/state/transcript.ts';

const fold = (events: unknown[], answer = newAnswer('a')): Answer => events.reduce<Answer>((sum, event) => apply(sum, event, 100), answer);
const calls = (answer: Answer): Call[] => answer.parts.filter((part): part is Call => part.kind === 'call');

/** The events of the guide, which the server's tests check. */
const guide = readFileSync(`${process.cwd()}/../../../docs/guide/server.md`, 'utf8');
const block = (guide.split('```json events\n')[1] ?? '').split('```')[0] ?? '';
const events = block.trim().split('\n').map((line) => JSON.parse(line) as { type: string });
const event = (type: string): { type: string } => {
  const found = events.find((each) => each.type === type);
  assert.ok(found, `the guide has no ${type}`);
  return found;
};

test('a snapshot of the guide is read', () => {
  const answer = fold([event('snapshot')]);
  assert.equal(answer.state, 'waiting');
  assert.deepEqual(answer.parts.map((part) => part.kind), ['thinking', 'call', 'call']);
  const [lease, notify] = calls(answer);
  assert.equal(lease?.state, 'done');
  assert.equal(lease?.documents[0]?.fileName, 'lease.txt');
  assert.equal(notify?.state, 'frontend');
  assert.deepEqual(notify?.arguments, { text: 'found' });
  assert.equal(answer.sights[0]?.decisions[0]?.reason, 'shown as text');
});

test('a snapshot twice is the same as once, and takes the place of what came before', () => {
  const once = fold([event('snapshot')]);
  const twice = fold([event('snapshot'), event('snapshot')]);
  assert.equal(JSON.stringify(twice.parts), JSON.stringify(once.parts));
  const before = fold([{ type: 'thinking', step: 0, delta: 'Whe' }, event('snapshot')]);
  assert.deepEqual(before.parts.map((part) => part.kind), ['thinking', 'call', 'call']);
});

test('a run that was taken up again keeps what came before', () => {
  const before = fold([
    { type: 'text', step: 0, delta: 'I pay.' },
    { type: 'tool_started', step: 0, callId: 'c', name: 'pay', arguments: {} },
  ]);
  const call = { type: 'call', step: 0, callId: 'c', name: 'pay', state: 'running', arguments: {} };
  const after = fold([{ type: 'snapshot', seq: 1, state: 'running', step: 0, blocks: [call] }], before);
  assert.deepEqual(after.parts.map((part) => part.kind), ['text', 'call']);
});

test('pieces of a text become one, and steps part them', () => {
  const text = (step: number, delta: string) => ({ type: 'text', step, delta });
  const answer = fold([text(0, 'The '), text(0, 'rent'), text(1, 'is')]);
  assert.deepEqual(answer.parts.map((part) => (part.kind === 'text' ? part.text : '')), ['The rent', 'is']);
});

test('a call goes through its states', () => {
  const told = ['tool_call_delta', 'tool_calls', 'tool_started', 'tool_finished'].map((type) => ({
    ...event(type),
    callId: 'c',
    calls: [{ callId: 'c', name: 'lease', arguments: {} }],
  }));
  const states = told.map((_, at) => calls(fold(told.slice(0, at + 1)))[0]?.state);
  assert.deepEqual(states, ['writing', 'requested', 'running', 'done']);
});

test('reasoning ends when the text begins', () => {
  const thinking = fold([event('thinking')]).parts[0];
  assert.ok(thinking?.kind === 'thinking' && thinking.ended === undefined);
  const first = fold([event('thinking'), { type: 'text', step: 0, delta: 'a' }]).parts[0];
  assert.ok(first?.kind === 'thinking' && first.ended === 100);
});

test('an approval waits, and is decided', () => {
  const asked = fold([event('approval_requested')]);
  assert.equal(calls(asked)[0]?.state, 'approval');
  const approvalId = calls(asked)[0]?.approval?.id;
  const decided = fold([{ type: 'approval_decided', approvalId, decision: { deny: 'too much' }, by: 'ann' }], asked);
  assert.deepEqual(calls(decided)[0]?.decided, { decision: 'deny', text: 'too much', by: 'ann', at: Math.round(performance.timeOrigin + 100) });
  assert.equal(calls(decided)[0]?.approval, undefined);
});

test('a text has the sources of its own step alone', () => {
  const citation = (start: number) => ({ source: { document: { id: 'd' } }, inAnswer: { claim: { start, end: start + 5 } } });
  const told = (type: string, facts: object) => ({ type, ...facts });
  const before = [
    told('text', { step: 0, delta: 'The rent is 900.' }),
    told('citation', { step: 0, citation: citation(0) }),
    told('citation', { step: 0, citation: citation(6) }),
    told('tool_calls', { step: 0, calls: [{ callId: 'c', name: 'pay', arguments: {} }] }),
    told('thinking', { step: 1, delta: 'So.' }),
  ];
  const starts = (...more: object[]) => [...before, ...more].reduce<Answer>((sum, each) => apply(sum, each, 0), newAnswer('a')).citations.map(({ inAnswer }) => inAnswer?.span.start);
  assert.deepEqual(starts(), [0, 6]);
  const text = told('text', { step: 1, delta: 'It is paid.' });
  assert.deepEqual(starts(text, told('finished', { step: 1, reason: 'answer', citations: [] })), []);
  assert.deepEqual(starts(told('citation', { step: 1, citation: citation(3) }), text), [3]);
  assert.deepEqual(starts(told('step_started', { step: 1 }), text, told('citation', { step: 1, citation: citation(3) }), told('reply_withdrawn', {}), text), []);
  // A page that looks on later goes on with those that the run has told.
  assert.deepEqual(starts(told('snapshot', { step: 1, blocks: [], citations: [citation(1)] }), text, told('citation', { step: 1, citation: citation(3) })), [1, 3]);
});

test('the end has figures, citations, cost', () => {
  const source = { document: { id: 'd', name: 'lease.pdf' } };
  const cited = { source, place: { pages: [2, 3] }, quote: '900', inAnswer: { claim: { start: 6, end: 9 } }, how: 'exact' };
  const figures = [
    { text: '900', inAnswer: { start: 6, end: 9 }, state: 'supported' },
    { text: '901', inAnswer: { start: 13, end: 16 }, state: { unsupported: {} } },
  ];
  const end = { ...event('finished'), cost: { known: 0.5, unknownSteps: 0 }, citations: [cited], figures };
  const answer = fold([{ type: 'text', step: 0, delta: 'It is 900 or 901.' }, end]);
  assert.equal(answer.state, 'done');
  assert.equal(answer.cost, 0.5);
  assert.deepEqual(answer.citations[0]?.pages, [2, 3]);
  assert.equal(answer.citations[0]?.source.name, 'lease.pdf');
  assert.deepEqual(answer.unsupported, [{ text: '901', span: { start: 13, end: 16 } }]);
  assert.equal(fold([event('finished')]).cost, undefined);
});

test('calls without a result are cancelled by the end', () => {
  const answer = fold([event('tool_started'), { ...event('finished'), reason: 'cancelled' }]);
  assert.equal(calls(answer)[0]?.state, 'cancelled');
  assert.equal(answer.state, 'stopped');
});

test('events of a newer server change nothing', () => {
  const answer = fold([{ type: 'text', step: 0, delta: 'a' }]);
  assert.equal(apply(answer, { type: 'something_new', step: 0 }, 0), answer);
});

test('messages of a session are questions and whole answers', () => {
  const document = { id: 'd', mediaType: 'text/plain', fileName: 'a.txt', size: 3 };
  const read = messages([
    { id: '1', role: 'user', parts: [{ type: 'text', text: 'Rent?' }, { type: 'document', document }] },
    { id: '2', role: 'assistant', parts: [{ type: 'text', text: 'I look.' }, { type: 'call', callId: 'c', name: 'lease', arguments: {} }], citations: [] },
    { id: '3', role: 'tool', results: [{ callId: 'c', name: 'lease', isError: true, content: 'no', documents: [] }] },
    { id: '4', role: 'assistant', parts: [{ type: 'text', text: '900.' }], citations: [] },
    { id: '5', role: 'user', parts: [{ type: 'text', text: 'Thanks' }] },
  ]);
  assert.deepEqual(read.map((message) => message.role), ['user', 'assistant', 'user']);
  assert.ok(read[0]?.role === 'user' && read[0].documents[0]?.fileName === 'a.txt');
  const answer = read[1] as Answer;
  assert.deepEqual(answer.parts.map((part) => [part.kind, part.step]), [['text', 0], ['call', 0], ['text', 1]]);
  assert.equal(calls(answer)[0]?.state, 'failed');
});

test('a picture stands where it was made, once', () => {
  const document = { id: 'd', mediaType: 'image/png', size: 8 };
  const drawn = [{ type: 'text', step: 0, delta: 'Here.' }, { type: 'document', step: 0, document }];
  const pays = [{ type: 'tool_calls', step: 1, calls: [{ callId: 'c', name: 'pay', arguments: {} }] }];
  const end = { type: 'finished', step: 2, reason: 'answer', documents: [document] };
  const kinds = (answer: Answer) => answer.parts.map((part) => part.kind);
  assert.deepEqual(kinds(fold([...drawn, ...pays, { type: 'text', step: 1, delta: 'Paid.' }, end])), ['text', 'document', 'call', 'text']);
  const blocks = [{ type: 'text', step: 0, text: 'Here.' }, { type: 'document', step: 0, document }];
  assert.deepEqual(kinds(fold([...drawn, { type: 'snapshot', seq: 1, state: 'running', step: 0, blocks }, end])), ['text', 'document']);
  assert.deepEqual(kinds(fold([...drawn, { type: 'reply_withdrawn', step: 0, messageId: 'm' }])), []);
});

test('JSON of other shapes is nothing', () => {
  for (const wrong of [undefined, null, 5, 'x', {}, [null, 5, {}, { role: 'user' }, { role: 'tool', results: 5 }]]) {
    assert.ok(Array.isArray(messages(wrong)));
  }
  for (const wrong of [undefined, null, 5, {}, { type: 'snapshot' }, { type: 'tool_calls', calls: 5 }, { type: 'finished' }, { type: 'nested' }]) {
    assert.equal(fold([wrong]).role, 'assistant');
  }
});

test('a call that runs says how far it has come', () => {
  const started = { type: 'tool_started', step: 0, callId: 'c', name: 'index', arguments: {} };
  const told = (more: object) => ({ type: 'tool_progress', step: 0, callId: 'c', done: 3, ...more });
  const progress = (...events: object[]) => calls(fold([started, ...events]))[0]?.progress;
  assert.deepEqual(progress(told({ total: 4, message: 'page 3' })), { share: 0.75, text: 'page 3' });
  assert.deepEqual(progress(told({ total: 4 }), told({})), { share: undefined, text: '' });
  assert.equal(progress(told({ done: 9, total: 4 }))?.share, 1);
  const call = { type: 'call', step: 0, callId: 'c', name: 'index', state: 'running', arguments: {}, progress: { done: 1, total: 2 } };
  const [kept] = calls(fold([{ type: 'snapshot', seq: 1, state: 'running', step: 0, blocks: [call] }]));
  assert.deepEqual(kept?.progress, { share: 0.5, text: '' });
});

const path = [{ name: 'clerk', callId: 'outer' }];
const within = (event: object) => ({ type: 'nested', step: 2, path, event: { step: 0, ...event } });
const asks = { type: 'tool_started', step: 2, callId: 'outer', name: 'clerk', arguments: {} };
const asked = within({ type: 'approval_requested', approvalId: 'p', callId: 'inner', name: 'pay', arguments: { amount: 1 } });
const decided = (decision: unknown) => within({ type: 'approval_decided', approvalId: 'p', decision, by: 'ann' });
const ended = (callId: string, more: object = {}) => ({ type: 'tool_finished', step: 2, callId, name: '', isError: false, content: 'paid', documents: [], disposition: 'executed', ...more });
const states = (answer: Answer) => calls(answer).map((call) => `${call.step} ${call.id} ${call.state}`);

test('a call of an agent inside that was approved comes to its own end', () => {
  const runs = [asks, within({ type: 'tool_started', callId: 'quiet', name: 'look', arguments: {} }), asked];
  assert.deepEqual(states(fold(runs)), ['2 outer running', '2 inner approval']);
  const approved = fold([decided('approve'), within({ type: 'tool_started', callId: 'inner', name: 'pay', arguments: { amount: 1 } })], fold(runs));
  assert.deepEqual(states(approved), ['2 outer running', '2 inner running']);
  const done = fold([within(ended('inner')), ended('outer'), { ...event('finished'), reason: 'answer' }], approved);
  assert.deepEqual(states(done), ['2 outer done', '2 inner done']);
  assert.equal(calls(done)[1]?.result, 'paid');
  assert.equal(calls(done)[1]?.decided?.by, 'ann');
  const denied = fold([decided({ deny: 'no' }), within(ended('inner', { isError: true, disposition: 'denied' })), ended('outer')], fold(runs));
  assert.deepEqual(states(denied), ['2 outer done', '2 inner denied']);
});

test('a page that comes later finds the call of an agent inside that waits, and its end', () => {
  const clerk = (state: string, more = {}) => ({ type: 'call', step: 2, callId: 'outer', name: 'clerk', state, arguments: {}, ...more });
  const approvals = [{ approvalId: 'p', callId: 'inner', name: 'pay', arguments: { amount: 1 }, path }];
  const waits = fold([{ type: 'snapshot', state: 'running', step: 2, blocks: [clerk('running')], approvals }]);
  assert.deepEqual(states(waits), ['2 outer running', '2 inner approval']);
  // The run pauses meanwhile, and the call around goes on with it.
  assert.deepEqual(states(fold([{ ...event('finished'), reason: 'pending_approval', approvals, pending: [{}] }], waits)), ['2 outer running', '2 inner approval']);
  const after = fold([{ type: 'snapshot', state: 'running', step: 2, blocks: [clerk('finished', { result: ended('outer') })] }], fold([decided('approve')], waits));
  assert.deepEqual(states(after), ['2 outer done', '2 inner done']);
});

test('a call of an agent inside ends with the call around it, whatever else is under way', () => {
  const block = (callId: string, name: string, more = {}) => ({ type: 'call', step: 2, callId, name, state: 'running', arguments: {}, ...more });
  const blocks = [block('outer', 'clerk'), block('slow', 'archive'), block('page', 'title', { state: 'frontend', path })];
  const approvals = [{ approvalId: 'p', callId: 'inner', name: 'pay', arguments: { amount: 1 }, path }];
  const deferred = [{ callId: 'asked', name: 'year', arguments: {}, prompt: 'Which year?', path: [...path, { name: 'helper', callId: 'further' }] }];
  const waits = fold([{ type: 'snapshot', state: 'running', step: 2, blocks, approvals, deferred }]);
  assert.deepEqual(states(fold([ended('slow')], waits)), ['2 outer running', '2 slow done', '2 page frontend', '2 inner approval', '2 asked question']);
  assert.deepEqual(states(fold([ended('outer')], waits)), ['2 outer done', '2 slow running', '2 page done', '2 inner done', '2 asked done']);
  // One of the agent itself, about which somebody must decide, ends by itself.
  const sibling = { ...block('inner', 'pay'), state: 'waiting_for_approval' };
  const own = [{ approvalId: 'p', callId: 'inner', name: 'pay', arguments: { amount: 1 } }];
  const beside = fold([{ type: 'snapshot', state: 'running', step: 2, blocks: [block('outer', 'clerk'), sibling], approvals: own }]);
  assert.deepEqual(states(fold([ended('outer')], beside)), ['2 outer done', '2 inner approval']);
});

test('a snapshot keeps the calls of agents inside that it does not tell', () => {
  const before = fold([{ type: 'text', step: 2, delta: 'I ask.' }, asks, asked, decided('approve')]);
  const block = (state: string, more = {}) => ({ type: 'call', step: 2, callId: 'outer', name: 'clerk', state, arguments: {}, ...more });
  const text = { type: 'text', step: 2, text: 'I ask.' };
  const running = fold([{ type: 'snapshot', state: 'running', step: 2, blocks: [text, block('running')] }], before);
  assert.deepEqual(states(running), ['2 outer running', '2 inner requested']);
  assert.deepEqual(running.parts.map((part) => part.kind), ['text', 'call', 'call']);
  // Nobody told the end of the call inside: it has ended with the call around it.
  assert.deepEqual(states(fold([ended('outer')], running)), ['2 outer done', '2 inner done']);
  const over = { type: 'snapshot', state: 'running', step: 3, blocks: [text, block('finished', { result: ended('outer') }), { type: 'text', step: 3, text: 'Paid.' }] };
  const told = fold([over, over], running);
  assert.deepEqual(states(told), ['2 outer done', '2 inner done']);
  assert.deepEqual(told.parts.map((part) => part.kind), ['text', 'call', 'call', 'text']);
});

test('a reply that a check took back is gone, and its words stand in the place', () => {
  const said = [
    { type: 'step_started', step: 0, model: 'm' },
    { type: 'text', step: 0, delta: 'I look.' },
    { type: 'step_started', step: 1, model: 'm' },
    { type: 'thinking', step: 1, delta: 'A secret' },
    { type: 'text', step: 1, delta: 'The secret is 4711.' },
    { type: 'reply_withdrawn', step: 2, messageId: 'r' },
  ];
  const texts = (answer: Answer): string[] => answer.parts.map((part) => (part.kind === 'text' || part.kind === 'thinking' ? part.text : part.kind));
  assert.deepEqual(texts(fold(said)), ['I look.']);
  const end = { ...event('finished'), documents: [] };
  const blocked = { ...end, reason: 'guardrail_tripped', text: 'I cannot say.' };
  assert.deepEqual(texts(fold([...said, blocked])), ['I look.', 'I cannot say.']);
  assert.deepEqual(texts(fold([...said, blocked, blocked])), ['I look.', 'I cannot say.']);
  const again = { type: 'text', step: 2, delta: 'Ask Ann.' };
  assert.deepEqual(texts(fold([...said, again, end])), ['I look.', 'Ask Ann.']);
});
