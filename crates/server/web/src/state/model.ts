// The conversation as the chat shows it.
import type { Origin } from './branches.ts';

export interface Doc {
  id: string;
  mediaType: string;
  fileName?: string;
  size?: number;
  /** True if it was uploaded by this page: it is there before the session has it. */
  isUpload?: boolean;
}

/** A piece of a text in bytes of UTF-8, its end excluded. */
export interface Span {
  start: number;
  end: number;
}

export interface Citation {
  source: {
    kind: 'document' | 'tool' | 'message' | 'url' | 'other';
    /** The document, call or address. */
    id: string;
    name?: string;
  };
  /** The first and the last page, from 1. */
  pages?: [number, number];
  /** Cells of a table. */
  cells?: { sheet: string; range: string };
  quote?: string;
  inDocument?: Span;
  /** The part of the answer that rests on it, or the mark in it that stands for it. */
  inAnswer?: { kind: 'claim' | 'marker'; span: Span };
  /** False if the words of the source are others. */
  isFaithful: boolean;
  /** The step whose text has its place, as far as a run tells it. */
  step?: number;
}

/** A figure of an answer that nothing supports. */
export interface Unsupported {
  text: string;
  span: Span;
}

export interface Approval {
  id: string;
  callId: string;
  name: string;
  arguments: unknown;
  reason?: string;
  /** In milliseconds since 1970; 0 for never. */
  expiresAt: number;
}

/** A decision about a call. */
export type Decision =
  | { decision: 'approve' | 'always' }
  | { decision: 'deny'; text: string }
  | { decision: 'edit'; arguments: unknown };

/** The state of a call. Those behind `frontend` are ends. */
export type CallState =
  | 'writing'
  | 'requested'
  | 'approval'
  | 'question'
  | 'deferred'
  | 'running'
  | 'frontend'
  | 'done'
  | 'failed'
  | 'denied'
  | 'cancelled';

export interface Call {
  kind: 'call';
  step: number;
  id: string;
  name: string;
  state: CallState;
  /** The arguments as the model writes them. */
  raw: string;
  /** The arguments; `undefined` if the server does not tell them, or they are not whole. */
  arguments?: unknown;
  result?: unknown;
  documents: Doc[];
  approval?: Approval;
  /** The decision about it, and who made it. */
  decided?: { decision: string; text?: string; arguments?: unknown; by?: string; at?: number };
  /** A question of the tool to the user, with the schema of the answer. */
  question?: { prompt?: string; schema?: unknown };
  /** How far its tool has come: `share` from 0 to 1, where it knows the whole. */
  progress?: { share?: number; text: string };
  /** The call of the agent that made it, if that is one inside. */
  outer?: string;
  /** The names of the agents inside that were at work for it. */
  inside: string[];
  /** Times of this page's clock. */
  began?: number;
  ended?: number;
}

export interface TextPart {
  kind: 'text';
  step: number;
  text: string;
}

export interface Thinking {
  kind: 'thinking';
  step: number;
  text: string;
  began?: number;
  ended?: number;
}

/** A document that the model made. */
export interface MadePart {
  kind: 'document';
  step: number;
  document: Doc;
}

export type Part = TextPart | Thinking | Call | MadePart;

/** A decision about one document of a request to the model. */
export interface Routed {
  documentId: string;
  tool?: string;
  mediaType: string;
  fileName?: string;
  outcome: string;
  reason: string;
  bytes: number;
  tokens: number;
}

/** The things that the model saw in one step. */
export interface Sight {
  step: number;
  decisions: Routed[];
  tokens: number;
}

export interface Tokens {
  input?: number;
  output?: number;
  cached?: number;
}

export type AnswerState = 'running' | 'waiting' | 'done' | 'stopped' | 'failed' | 'interrupted';

export interface Answer {
  role: 'assistant';
  id: string;
  runId?: string;
  parts: readonly Part[];
  state: AnswerState;
  /** The step under way. */
  step: number;
  model?: string;
  citations: readonly Citation[];
  unsupported: readonly Unsupported[];
  sights: readonly Sight[];
  notes: readonly Note[];
  tokens?: Tokens;
  /** In the currency of the server's price list; `undefined` where it is not known. */
  cost?: number;
  /** The word for the end of its run. */
  reason?: string;
  error?: Failed;
  began?: number;
  ended?: number;
}

export interface Failed {
  message: string;
  code: string;
  /** The time of the page's clock from which on it may be tried again. */
  retryAt?: number;
}

/** Something that happened to the conversation besides what was said. */
export interface Note {
  kind: 'compacted' | 'handed_off' | 'warning' | 'left_out';
  text: string;
}

export interface Question {
  role: 'user';
  id: string;
  text: string;
  documents: readonly Doc[];
  /** True until the server has it. */
  isSending?: boolean;
  /** True if it was said while a run was under way. */
  isAside?: boolean;
}

export type Message = Question | Answer;

export interface SessionInfo {
  id: string;
  title: string;
  /** In milliseconds since 1970. */
  created: number;
  updated: number;
  runs: number;
  /** The run that is open: it is under way, waits, or has failed. Empty if there is none. */
  run: string;
  /** The place at which it left another one. */
  origin?: Origin;
}

export const isEnd = (state: CallState): boolean =>
  state === 'done' || state === 'failed' || state === 'denied' || state === 'cancelled';

/** True for a call that waits for the user: for leave, or for an answer. */
export const asks = (part: Part): part is Call & { state: 'approval' | 'question' } => part.kind === 'call' && (part.state === 'approval' || part.state === 'question');

export function newAnswer(id: string, runId?: string): Answer {
  return {
    role: 'assistant',
    id,
    runId,
    parts: [],
    state: 'running',
    step: 0,
    citations: [],
    unsupported: [],
    sights: [],
    notes: [],
  };
}

/** The texts of the last step of an answer that has one: citations count their places in all of them as one. */
export function finalTexts({ parts }: Answer): TextPart[] {
  const texts = parts.filter((part): part is TextPart => part.kind === 'text');
  return texts.filter(({ step }) => step === texts.at(-1)?.step);
}

export const finalText = (answer: Answer): string => finalTexts(answer).map(({ text }) => text).join('');

/** An answer whose run waited: another question has ended that, and nobody answers its calls any more. */
export function closed(message: Message): Message {
  if (message.role === 'user' || message.state !== 'waiting') {
    return message;
  }
  const end = (part: Part): Part => (part.kind === 'call' && !isEnd(part.state) ? { ...part, state: 'cancelled', approval: undefined, question: undefined } : part);
  return { ...message, state: 'done', parts: message.parts.map(end) };
}
