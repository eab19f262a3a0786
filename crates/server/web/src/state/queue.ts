// Questions that wait: until an answer is there, or until somebody says them.
import { list } from '../api/read.ts';
import { next } from './conversation.ts';
import type { Kept } from './kept.ts';
import type { Doc, Question } from './model.ts';

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
}

const nameOf = (session: string): string => `queue.${session}`;

/** Keeps what waits until its session is opened again in this tab. */
export function keep(own: Kept, session: string, queue: readonly Queued[]): void {
  own.set(nameOf(session), queue.length > 0 ? queue : undefined);
}

/** Lets something wait first in a session that somebody has left. */
export function keepFirst(own: Kept, session: string, queued: Queued): void {
  keep(own, session, [queued, ...(list(own.get(nameOf(session))) as Queued[])]);
}

/** Takes what waits in a session. */
export function take(own: Kept, session: string): Queued[] {
  const queue = list(own.get(nameOf(session))).map((queued) => ({ ...(queued as Queued), id: next() }));
  keep(own, session, []);
  return queue;
}

/** True if it may have arrived, and stands among the questions that the session tells. */
export const hasArrived = ({ at, isHeld, text }: Queued, told: readonly Question[]): boolean =>
  !!isHeld && at !== undefined && told.slice(at).some((question) => question.text === text);
