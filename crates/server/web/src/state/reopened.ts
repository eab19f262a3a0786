// A session as the server keeps it, opened again.
import * as read from '../api/read.ts';
import { list, object, text } from '../api/read.ts';
import { type Answer, type Call, type Message, type Part, newAnswer } from './model.ts';
import { verdict, withVerdict } from './transcript.ts';

export interface Reopened {
  messages: Message[];
  /** The ids of the runs, in the order in which they began. */
  runs: string[];
  /** The run that is under way or waits; empty if there is none. */
  open: string;
  /** The end of the open answer: the run tells it again, so that it is shown only if the run does not. */
  tail: Answer['parts'];
}

/** The conversation of a session. `id` is for the answer of a run of which no message is there yet. */
export function reopened(value: unknown, id: string): Reopened {
  const told = object(value);
  const messages = withDecisions(read.messages(told.messages), told.decisions);
  const infos = list(told.runs).map(object);
  const runs = infos.map((run) => text(run.id));
  const newest = infos.at(-1);
  const open = text(told.openRun) || (newest && !newest.ended ? text(newest.id) : '');
  if (!open) {
    return { messages, runs, open, tail: [] };
  }
  const last = messages.at(-1);
  const answer: Answer = { ...(last?.role === 'assistant' ? last : newAnswer(id)), runId: open };
  const isWaiting = list(told.approvals).length > 0 || list(told.deferred).length > 0;
  // The run tells again what it said last, which may be among the messages already.
  const said = isWaiting ? answer.parts.length : answer.parts.findLastIndex((part) => part.kind === 'call') + 1;
  const waiting = { runId: open, reason: 'pending', approvals: told.approvals, deferred: told.deferred };
  const now: Answer = isWaiting ? read.ended(answer, waiting) : { ...answer, state: 'running', parts: answer.parts.slice(0, said) };
  const before = last?.role === 'assistant' ? messages.slice(0, -1) : messages;
  return { messages: [...before, now], runs, open, tail: answer.parts.slice(said) };
}

/** The messages with the decisions of people about calls. */
function withDecisions(messages: Message[], value: unknown): Message[] {
  const decisions = new Map(list(value).map(object).map((each) => [text(each.callId), verdict(each.decision, each.by, each.at)]));
  const decide = (part: Part): Part => {
    const decided = part.kind === 'call' ? decisions.get(part.id) : undefined;
    return decided ? withVerdict({ ...(part as Call), decided }) : part;
  };
  return messages.map((message) => (message.role === 'assistant' ? { ...message, parts: message.parts.map(decide) } : message));
}
