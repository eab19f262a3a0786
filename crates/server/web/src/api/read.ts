// The server's JSON as the chat's model. Members that are missing or of another type are left out: a server may be newer
// than a page that is open, and older than one that is cached.
import type {
  Answer,
  Approval,
  Call,
  CallState,
  Citation,
  Doc,
  Message,
  Part,
  Question,
  Routed,
  SessionInfo,
  Span,
  Tokens,
  Unsupported,
} from '../state/model.ts';
import { isEnd, newAnswer } from '../state/model.ts';

export type Json = Record<string, unknown>;

export const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
const some = (value: unknown): string | undefined => text(value) || undefined;

export function document(value: unknown): Doc {
  const from = object(value);
  return {
    id: text(from.id),
    mediaType: text(from.mediaType) || 'application/octet-stream',
    fileName: some(from.fileName),
    size: number(from.size),
  };
}

const documents = (value: unknown): Doc[] => list(value).map(document).filter((found) => found.id);

function span(value: unknown): Span | undefined {
  const { start, end } = object(value);
  const [first, last] = [number(start), number(end)];
  return first !== undefined && last !== undefined && first < last ? { start: first, end: last } : undefined;
}

function source(value: unknown): Citation['source'] {
  if (typeof value === 'string') {
    return { kind: 'message', id: '' };
  }
  const from = object(value);
  if (from.document) {
    const { id, name } = object(from.document);
    return { kind: 'document', id: text(id), name: some(name) };
  }
  if (from.toolResult) {
    const { callId, tool } = object(from.toolResult);
    return { kind: 'tool', id: text(callId), name: some(tool) };
  }
  if (from.url) {
    const { url, title } = object(from.url);
    return { kind: 'url', id: text(url), name: some(title) };
  }
  const { id, index, title } = object(from.foreign ?? from.nth);
  return { kind: 'other', id: text(id) || String(number(index) ?? ''), name: some(title) };
}

export function citation(value: unknown): Citation {
  const from = object(value);
  const place = object(from.place);
  const [first, last] = list(place.pages).map(number);
  const { sheet, range } = object(place.cell);
  const inAnswer = object(from.inAnswer);
  const [claim, marker] = [span(inAnswer.claim), span(inAnswer.marker)];
  return {
    source: source(from.source),
    pages: first !== undefined ? [first, last ?? first] : undefined,
    cells: place.cell ? { sheet: text(sheet), range: text(range) } : undefined,
    quote: some(from.quote),
    inDocument: span(from.inDocument),
    inAnswer: claim ? { kind: 'claim', span: claim } : marker ? { kind: 'marker', span: marker } : undefined,
    isFaithful: from.how !== 'altered',
  };
}

/** The figures that nothing supports. */
export function unsupported(value: unknown): Unsupported[] {
  return list(value).flatMap((figure) => {
    const { state, text: words, inAnswer } = object(figure);
    const place = span(inAnswer);
    return object(state).unsupported !== undefined || state === 'unsupported'
      ? place
        ? [{ text: text(words), span: place }]
        : []
      : [];
  });
}

export function approval(value: unknown): Approval {
  const from = object(value);
  return {
    id: text(from.approvalId),
    callId: text(from.callId),
    name: text(from.name),
    arguments: from.arguments,
    reason: some(from.reason),
    expiresAt: number(from.expiresAt) ?? 0,
  };
}

export function routed(value: unknown): Routed {
  const from = object(value);
  return {
    documentId: text(from.document_id),
    tool: some(from.tool_name),
    mediaType: text(from.media_type),
    fileName: some(from.file_name),
    outcome: text(from.outcome),
    reason: text(from.reason),
    bytes: number(from.bytes) ?? 0,
    tokens: number(from.tokens) ?? 0,
  };
}

export function tokens(value: unknown): Tokens | undefined {
  const from = object(value);
  const counted = {
    input: number(from.input_tokens),
    output: number(from.output_tokens),
    cached: number(from.cached_tokens),
  };
  return counted.input === undefined && counted.output === undefined ? undefined : counted;
}

const STATES: Record<string, CallState> = {
  writing: 'writing',
  requested: 'requested',
  waiting_for_approval: 'approval',
  deferred: 'deferred',
  running: 'running',
  frontend: 'frontend',
  finished: 'done',
};

/** How far a call has come. */
export function progress(value: unknown): Call['progress'] {
  const { done, total, message } = object(value);
  const all = number(total) ?? 0;
  return { share: all > 0 ? Math.min(Math.max((number(done) ?? 0) / all, 0), 1) : undefined, text: text(message) };
}

/** The call of the agent itself around something that an agent inside does. */
export const outer = (value: unknown): string | undefined => some(object(list(object(value).path)[0]).callId);

/** A call as a message, an event or a snapshot tells it. */
export function call(value: unknown, step: number): Call {
  const from = object(value);
  const made: Call = {
    kind: 'call',
    step: number(from.step) ?? step,
    id: text(from.callId),
    name: text(from.name),
    state: STATES[text(from.state)] ?? 'requested',
    raw: '',
    arguments: typeof from.arguments === 'string' ? undefined : from.arguments,
    documents: [],
    progress: from.progress === undefined ? undefined : progress(from.progress),
    outer: outer(from),
    inside: [],
  };
  return from.result === undefined ? made : withResult(made, from.result);
}

/** The ends of calls that no tool has brought to a result. */
const ENDS: Record<string, CallState> = { denied: 'denied', cancelled: 'cancelled', interrupted: 'cancelled' };

/** The call with its result. */
export function withResult(call: Call, value: unknown, ended?: number): Call {
  const from = object(value);
  const state: CallState = ENDS[text(from.disposition)] ?? (from.isError === true ? 'failed' : 'done');
  return {
    ...call,
    name: call.name || text(from.name),
    state,
    approval: undefined,
    question: undefined,
    result: from.content,
    documents: documents(from.documents),
    ended: ended ?? call.ended,
  };
}

/** A piece of a snapshot. */
export function block(value: unknown): Part | undefined {
  const from = object(value);
  const step = number(from.step) ?? 0;
  switch (from.type) {
    case 'text':
      return { kind: 'text', step, text: text(from.text) };
    case 'thinking':
      return { kind: 'thinking', step, text: text(from.text) };
    case 'call':
      return call(value, step);
    case 'document':
      return { kind: 'document', step, document: document(from.document) };
    default:
      return undefined;
  }
}

export function sessionInfo(value: unknown): SessionInfo {
  const from = object(value);
  const { session: other, questions } = object(from.forkedFrom);
  const session = text(other);
  return {
    id: text(from.id),
    title: text(from.title),
    created: number(from.created) ?? 0,
    updated: number(from.updated) ?? 0,
    runs: number(from.runs) ?? 0,
    run: text(from.openRun),
    origin: session ? { session, at: number(questions) ?? 0 } : undefined,
  };
}

function question(from: Json): Question {
  const parts = list(from.parts).map(object);
  const words = parts.filter((part) => part.type === 'text').map((part) => text(part.text));
  const held = parts.filter((part) => part.type === 'document').map((part) => document(part.document));
  return { role: 'user', id: text(from.id), text: words.join('\n'), documents: held, isAside: from.isAside === true };
}

/** Adds what a message of the model says. */
function said(answer: Answer, from: Json, step: number): Answer {
  const parts = list(from.parts).reduce<Part[]>((all, value) => {
    const part = block(value);
    const last = all.at(-1);
    // A provider may part a text at each passage that it cites: the pieces are one text, as they were while it came.
    if (part && last?.kind === part.kind && 'text' in last && 'text' in part) {
      all[all.length - 1] = { ...last, text: last.text + part.text };
    } else if (part) {
      all.push({ ...part, step });
    }
    return all;
  }, []);
  const cited = list(from.citations).map(citation);
  return {
    ...answer,
    step,
    parts: [...answer.parts, ...parts],
    // Places are counted in the text of the message that cites, and the last one stands.
    citations: parts.some((part) => part.kind === 'text') ? cited : answer.citations,
  };
}

/** The messages of a session. All that follows one question is one answer. */
export function messages(value: unknown): Message[] {
  const all: Message[] = [];
  let steps = 0;
  for (const each of list(value)) {
    const from = object(each);
    const last = all.at(-1);
    if (from.role === 'user') {
      all.push(question(from));
      // Words that came while a run was under way part its answer, and its steps go on.
      steps = from.isAside === true ? steps : 0;
    } else if (from.role === 'assistant') {
      const answer = last?.role === 'assistant' ? last : newAnswer(text(from.id), some(from.runId));
      const made = said({ ...answer, state: 'done' }, from, steps);
      steps += 1;
      if (last?.role === 'assistant') {
        all[all.length - 1] = made;
      } else {
        all.push(made);
      }
    } else if (from.role === 'tool' && last?.role === 'assistant') {
      const results = new Map(list(from.results).map((result) => [text(object(result).callId), result]));
      const parts = last.parts.map((part) =>
        part.kind === 'call' && results.has(part.id) ? withResult(part, results.get(part.id)) : part,
      );
      all[all.length - 1] = { ...last, parts };
    }
  }
  return all;
}

/** The time of the page's clock in so many seconds. */
export const later = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : performance.now() + seconds * 1000;

/** The end of a run, as its last event or its stored outcome tells it. */
export function ended(answer: Answer, value: unknown, now?: number): Answer {
  const from = object(value);
  const reason = text(from.reason);
  const waiting = list(from.approvals).map(approval);
  const asked = list(from.deferred).map(object);
  const waits = waiting.length > 0 || asked.length > 0 || list(from.pending).length > 0;
  const error = object(from.error);
  const hasFailed = from.error !== undefined;
  const cost = object(from.cost);
  // Passages that the provider itself names came before.
  const cited = list(from.citations).map(citation);
  const parts = answer.parts.map((part): Part => {
    if (part.kind === 'thinking') {
      return { ...part, ended: part.ended ?? now };
    }
    if (part.kind !== 'call') {
      return part;
    }
    const approval = waiting.find((each) => each.callId === part.id);
    if (approval) {
      return { ...part, state: 'approval', approval, arguments: approval.arguments, result: undefined };
    }
    const deferred = asked.find((each) => text(each.callId) === part.id);
    if (deferred) {
      return deferral(part, deferred);
    }
    // The call around one that waits goes on, too.
    return waits || isEnd(part.state) ? part : { ...part, state: 'cancelled', ended: part.ended ?? now };
  });
  // A provider that keeps reasoning to itself told nothing of it before.
  for (const step of list(from.hiddenThinking).map(Number)) {
    if (!parts.some((part) => part.kind === 'thinking' && part.step === step)) {
      const at = parts.findIndex((part) => part.step >= step);
      parts.splice(at < 0 ? parts.length : at, 0, { kind: 'thinking', step, text: '', ended: now });
    }
  }
  // A check says something in the place of what the model said.
  const said = text(from.text);
  if (reason === 'guardrail_tripped' && said && !parts.some((part) => (part as { text?: string }).text === said)) {
    parts.push({ kind: 'text', step: answer.step, text: said });
  }
  const made = documents(from.documents).filter(
    (found) => !parts.some((part) => part.kind === 'document' && part.document.id === found.id),
  );
  return {
    ...answer,
    runId: some(from.runId) ?? answer.runId,
    parts: [...parts, ...made.map((document): Part => ({ kind: 'document', step: answer.step, document }))],
    state: hasFailed && reason !== 'cancelled' ? 'failed' : waits ? 'waiting' : reason === 'cancelled' ? 'stopped' : 'done',
    reason,
    citations: cited.length > 0 ? cited : answer.citations,
    unsupported: unsupported(from.figures),
    tokens: tokens(from.usage) ?? answer.tokens,
    cost: cost.unknownSteps === 0 ? number(cost.known) : undefined,
    error: hasFailed
      ? { message: text(error.message) || text(from.detail), code: text(error.code), retryAt: later(number(error.retryAfter)) }
      : undefined,
    ended: now ?? answer.ended,
  };
}

/** A call whose result comes later: a question to the user where it has a prompt. */
export function deferral(call: Call, value: unknown): Call {
  const from = object(value);
  const prompt = some(from.prompt);
  const isAsked = prompt !== undefined || from.schema !== undefined;
  return {
    ...call,
    state: isAsked ? 'question' : 'deferred',
    result: undefined,
    question: isAsked ? { prompt, schema: from.schema } : undefined,
  };
}
