// Questions that wait: until an answer is there, or until somebody says them.
import { isOf } from '../api/client.ts';
import { list } from '../api/read.ts';
import { next } from './conversation.ts';
import type { Kept } from './kept.ts';
import type { Doc, Message, Question } from './model.ts';

export interface Queued {
  id: number;
  text: string;
  documents: readonly Doc[];
  /** True if the server did not take it, because something else was under way. */
  isRefused?: boolean;
  /** True if it may have arrived: it is said by hand alone. */
  isHeld?: boolean;
  /** The number of questions before it, if it has arrived. */
  at?: number;
  /** The session in which it was said, if the server may not have that one. */
  session?: string;
}

const nameOf = (session: string): string => `queue.${session}`;

const kept = (own: Kept, session: string): Queued[] => list(own.get(nameOf(session))) as Queued[];

function keep(own: Kept, session: string, queue: readonly Queued[]): void {
  own.set(nameOf(session), queue.length > 0 ? queue : undefined);
}

/** Keeps what waits until its session is opened again in this tab, before what is kept already. Yields the way to undo that. */
export function keepFirst(own: Kept, session: string, queue: readonly Queued[]): () => void {
  const before = kept(own, session);
  keep(own, session, [...queue, ...before]);
  return () => keep(own, session, before);
}

/** Takes what waits in a session, and what waits in a new one because nobody knew that the server has that session. */
export function take(own: Kept, session: string): Queued[] {
  const others = session ? kept(own, '') : [];
  const isOfIt = (queued: Queued) => queued.session === session;
  const queue = [...others.filter(isOfIt), ...kept(own, session)].map((queued) => ({ ...queued, id: next() }));
  keep(own, '', others.filter((queued) => !isOfIt(queued)));
  keep(own, session, []);
  return queue;
}

/** The questions that failed, which may have arrived. `placeOf` tells the number of questions before one. */
export function failed(messages: readonly Message[], placeOf: (question: Question) => number): Queued[] {
  return messages.flatMap((question, at) => {
    const answer = messages[at + 1];
    const hasFailed = question.role === 'user' && question.isSending && answer?.role === 'assistant' && answer.state === 'failed';
    return hasFailed ? { id: next(), text: question.text, documents: question.documents, isHeld: true, at: placeOf(question) } : [];
  });
}

/** True unless the server has refused before anything began: a request of which that is not known may have been taken. */
export const mayHaveArrived = (error: unknown): boolean => !isOf(error, 401, 409, 429);

/** True if it may have arrived, and stands among the questions that the session tells. */
export const hasArrived = ({ at, isHeld, text }: Queued, told: readonly Question[]): boolean =>
  !!isHeld && at !== undefined && told.slice(at).some((question) => question.text === text);
