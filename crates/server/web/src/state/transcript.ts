// An answer as a fold over the events of its run.
import * as read from '../api/read.ts';
import { list, number, object, text } from '../api/read.ts';
import type { Answer, Call, Note, Part } from './model.ts';
import { isEnd } from './model.ts';

/** The answer after an event. The same object comes back where nothing that is shown has changed. */
export function apply(answer: Answer, value: unknown, now: number): Answer {
  const event = object(value);
  const step = number(event.step) ?? answer.step;
  switch (event.type) {
    case 'snapshot':
      return snapshot(answer, value, now);
    case 'run_started':
      return { ...answer, runId: text(event.runId) || answer.runId, began: answer.began ?? now };
    case 'step_started':
      return { ...answer, state: 'running', step, model: text(event.model) || answer.model };
    case 'text':
      return said(answer, 'text', step, text(event.delta), now);
    case 'thinking':
      return said(answer, 'thinking', step, text(event.delta), now);
    case 'document': {
      const before = closed(answer, now);
      return { ...before, parts: [...before.parts, read.block(value) as Part] };
    }
    case 'tool_call_delta': {
      const name = text(event.name);
      return change(closed(answer, now), text(event.callId), step, (call) => ({
        ...call,
        name: name || call.name,
        raw: call.raw + text(event.delta),
      }));
    }
    case 'tool_calls':
      return list(event.calls).reduce<Answer>((sum, each) => {
        const asked = read.call(each, step);
        return change(sum, asked.id, step, (call) => ({
          ...call,
          name: asked.name || call.name,
          arguments: asked.arguments ?? call.arguments,
          state: isEnd(call.state) ? call.state : 'requested',
        }));
      }, closed(answer, now));
    case 'tool_started':
      return started(answer, value, step, 'running', now);
    case 'frontend_call':
      return { ...started(answer, value, step, 'frontend', now), state: 'waiting' };
    case 'tool_progress':
      return change(answer, text(event.callId), step, (call) => ({ ...call, progress: read.progress(event) }));
    case 'tool_finished': {
      const id = text(event.callId);
      return settled({ ...change(answer, id, step, (call) => read.withResult(call, value, now)), state: 'running' }, now);
    }
    case 'approval_requested': {
      const approval = read.approval(value);
      return change(answer, approval.callId, step, (call) => ({
        ...call,
        name: approval.name || call.name,
        arguments: approval.arguments ?? call.arguments,
        state: 'approval',
        approval,
      }));
    }
    case 'approval_decided':
      return decided(answer, value, now);
    case 'call_deferred':
      return change(answer, text(event.callId), step, (call) =>
        read.deferral({ ...call, name: text(event.name) || call.name, arguments: event.arguments ?? call.arguments }, value),
      );
    case 'routing':
      return seen(answer, step, event.decisions);
    case 'documents_left_out':
      return noted(answer, { kind: 'left_out', text: String(list(event.documents).length) });
    case 'compacted':
      return noted(answer, { kind: 'compacted', text: '' });
    case 'handed_off':
      return noted(answer, { kind: 'handed_off', text: text(event.agent) });
    case 'warning':
      return noted(answer, { kind: 'warning', text: text(event.message) });
    case 'citation':
      return { ...answer, citations: [...citing(answer, step), { ...read.citation(event.citation), step }] };
    case 'step_finished': {
      const used = read.tokens(event.usage);
      const sum = {
        input: (answer.tokens?.input ?? 0) + (used?.input ?? 0),
        output: (answer.tokens?.output ?? 0) + (used?.output ?? 0),
        cached: (answer.tokens?.cached ?? 0) + (used?.cached ?? 0),
      };
      return { ...closed(answer, now), tokens: used ? sum : answer.tokens };
    }
    case 'reply_withdrawn':
      // A check blocked what the last step said, or has it said again.
      return { ...answer, citations: [], parts: answer.parts.filter((part) => part.kind === 'call' || part.step !== answer.step) };
    case 'nested':
      return nested(answer, value, step, now);
    case 'finished':
    case 'failed':
      return read.ended(closed(answer, now), value, now);
    case 'paused':
      return { ...closed(answer, now), state: 'waiting' };
    case 'interrupted':
      // A run of a server that stops goes on at another one.
      return { ...closed(answer, now), state: event.reason === 'stopping' ? answer.state : 'interrupted' };
    default:
      return answer;
  }
}

/** Adds a piece of text or of reasoning. */
function said(answer: Answer, kind: 'text' | 'thinking', step: number, delta: string, now: number): Answer {
  const last = answer.parts.at(-1);
  if (last?.kind === kind && last.step === step) {
    const parts = answer.parts.slice(0, -1);
    return { ...answer, step, parts: [...parts, { ...last, text: last.text + delta }] };
  }
  const part: Part = kind === 'text' ? { kind, step, text: delta } : { kind, step, text: delta, began: now };
  const before = { ...closed(answer, now), citations: kind === 'text' ? citing(answer, step) : answer.citations };
  return { ...before, step, state: 'running', parts: [...before.parts, part] };
}

/** The citations of a step: places are counted in its text, and the last one that says something stands. */
const citing = ({ citations }: Answer, step: number) => citations.filter((citation) => citation.step === step);

/** Reasoning ends when something else begins. */
function closed(answer: Answer, now: number): Answer {
  const last = answer.parts.at(-1);
  if (last?.kind !== 'thinking' || last.ended !== undefined) {
    return answer;
  }
  return { ...answer, parts: [...answer.parts.slice(0, -1), { ...last, ended: now }] };
}

function change(answer: Answer, id: string, step: number, to: (call: Call) => Call): Answer {
  if (!id) {
    return answer;
  }
  let isKnown = false;
  const parts = answer.parts.map((part) => {
    if (part.kind !== 'call' || part.id !== id) {
      return part;
    }
    isKnown = true;
    return to(part);
  });
  if (!isKnown) {
    parts.push(to({ kind: 'call', step, id, name: '', state: 'writing', raw: '', documents: [], inside: [] }));
  }
  return { ...answer, parts };
}

function started(answer: Answer, value: unknown, step: number, state: 'running' | 'frontend', now: number): Answer {
  const asked = read.call(value, step);
  return change(closed(answer, now), asked.id, step, (call) => ({
    ...call,
    name: asked.name || call.name,
    arguments: asked.arguments ?? call.arguments,
    approval: undefined,
    state,
    began: now,
  }));
}

function decided(answer: Answer, value: unknown, now: number): Answer {
  const { approvalId, decision, by } = object(value);
  const parts = answer.parts.map((part): Part => {
    if (part.kind !== 'call' || part.approval?.id !== approvalId) {
      return part;
    }
    return { ...part, state: 'requested', approval: undefined, decided: verdict(decision, by, Math.round(performance.timeOrigin + now)) };
  });
  return { ...answer, parts, state: 'running' };
}

/** A decision as the server writes it: a word, or an object with one member. The time is in milliseconds since 1970. */
export function verdict(decision: unknown, by?: unknown, at?: unknown): Call['decided'] {
  const [word, told] = typeof decision === 'string' ? [decision, undefined] : (Object.entries(object(decision))[0] ?? ['']);
  const edited = word === 'edit' && typeof told === 'object' ? { arguments: told } : {};
  return { decision: word, text: typeof told === 'string' ? told : undefined, ...edited, by: text(by) || undefined, at: number(at) };
}

function seen(answer: Answer, step: number, value: unknown): Answer {
  const decisions = list(value).map(read.routed);
  const tokens = decisions.reduce((sum, each) => sum + each.tokens, 0);
  const others = answer.sights.filter((sight) => sight.step !== step);
  return decisions.length > 0 ? { ...answer, sights: [...others, { step, decisions, tokens }] } : answer;
}

function noted(answer: Answer, note: Note): Answer {
  return { ...answer, notes: [...answer.notes, note] };
}

/** An event of an agent inside belongs to the call that asked it. */
function nested(answer: Answer, value: unknown, step: number, now: number): Answer {
  const event = object(value);
  const first = object(list(event.path)[0]);
  const inner = object(event.event);
  const [id, outer] = [text(inner.callId), read.outer(event) ?? ''];
  let next = answer;
  // A call inside that somebody was asked about is shown from then on.
  if (ASKING.has(text(inner.type)) || answer.parts.some((part) => part.kind === 'call' && part.id === id)) {
    next = apply(next, { ...inner, step }, now);
    next = change(next, id, step, (call) => ({ ...call, outer }));
  }
  const doing =
    inner.type === 'tool_started' ? text(inner.name) : inner.type === 'step_started' ? text(first.name) : undefined;
  return doing
    ? change(next, outer, step, (call) => ({ ...call, inside: [...call.inside.slice(-19), doing] }))
    : next;
}

/** The events of an agent inside that ask somebody, or say who has decided. */
const ASKING = new Set(['approval_requested', 'approval_decided', 'call_deferred', 'frontend_call']);

/** A call inside whose end nobody has told has ended with the call around it. */
function settled(answer: Answer, now: number): Answer {
  const ends = new Map(answer.parts.flatMap((part) => (part.kind === 'call' && isEnd(part.state) ? [[part.id, part.state] as const] : [])));
  const parts = answer.parts.map((part): Part => {
    const end = part.kind === 'call' && !isEnd(part.state) && ends.get(part.outer ?? '');
    return end ? { ...part, state: part.decided?.decision === 'deny' ? 'denied' : end === 'done' ? end : 'cancelled', approval: undefined, ended: now } : part;
  });
  return { ...answer, parts };
}

/** A call as it is told once more, with what is known of it besides: whoever takes a run up again knows less. */
function again(call: Call, old: Call): Call {
  const isBare = Object.keys(object(call.arguments)).length === 0;
  const { began, ended, decided, inside, outer } = old;
  return withVerdict({ ...call, began, ended, decided, inside, outer: call.outer ?? outer, arguments: isBare ? (old.arguments ?? call.arguments) : call.arguments });
}

/** A call that has failed because somebody denied it was denied. */
export const withVerdict = (call: Call): Call => (call.state === 'failed' && call.decided?.decision === 'deny' ? { ...call, state: 'denied' } : call);

/** The blocks of a run so far that an earlier part of its answer does not show. */
export function unseen(blocks: unknown, earlier: readonly Part[]): unknown[] {
  const last = Math.max(-1, ...earlier.map(({ step }) => step));
  const calls = new Set(earlier.map((part) => part.kind === 'call' && part.id));
  return list(blocks).filter((value) => {
    const part = read.block(value);
    return part?.kind === 'call' ? !calls.has(part.id) : part && part.step > last;
  });
}

/** A run so far takes the place of what is known of its steps; what came before the server took it up again stays. */
function snapshot(answer: Answer, value: unknown, now: number): Answer {
  const from = object(value);
  const told = list(from.blocks).flatMap((value) => read.block(value) ?? []);
  const known = new Map(answer.parts.flatMap((part) => (part.kind === 'call' ? [[part.id, part] as const] : [])));
  const fresh = told.map((part): Part => {
    const old = part.kind === 'call' ? known.get(part.id) : undefined;
    return part.kind === 'call' && old ? again(part, old) : part;
  });
  const first = Math.min(...told.map((part) => part.step), number(from.step) ?? 0);
  const later = new Map(fresh.flatMap((part) => (part.kind === 'call' ? [[part.id, part] as const] : [])));
  // A run that was taken up again tells of a step before only the calls that went on.
  const toldOf = new Set(fresh.map((part) => `${part.step} ${part.kind}`));
  const inner = answer.parts.filter((part) => part.kind === 'call' && part.outer && !later.has(part.id)) as Call[];
  const before = answer.parts
    .filter((part) => !inner.includes(part as Call) && (part.step < first || (part.kind !== 'call' && !toldOf.has(`${part.step} ${part.kind}`))))
    .map((part) => (part.kind === 'call' ? (later.get(part.id) ?? part) : part));
  const stays = new Set(before.flatMap((part) => (part.kind === 'call' ? [part.id] : [])));
  const own = [...before, ...fresh.filter((part) => part.kind !== 'call' || !stays.has(part.id))];
  // Calls inside that somebody was asked about are told no more.
  const parts = own.flatMap((part) => [part, ...inner.filter(({ outer }) => part.kind === 'call' && part.id === outer)]);
  let next: Answer = {
    ...answer,
    parts,
    step: number(from.step) ?? 0,
    state: from.state === 'waiting' ? 'waiting' : 'running',
    model: text(from.model) || answer.model,
    citations: list(from.citations).map((value) => ({ ...read.citation(value), step: number(from.step) ?? 0 })),
    tokens: read.tokens(from.usage) ?? answer.tokens,
    error: undefined,
    reason: undefined,
    began: answer.began ?? now,
  };
  for (const [type, asked] of [['approval_requested', from.approvals], ['call_deferred', from.deferred]] as const) {
    for (const each of list(asked).map(object)) {
      next = apply(next, { ...each, type, step: next.step }, now);
      next = change(next, text(each.callId), next.step, (call) => ({ ...call, outer: read.outer(each) ?? call.outer }));
    }
  }
  next = settled(seen(next, next.step, from.routing), now);
  return from.end ? apply(next, from.end, now) : next;
}
