// Looking at a run until it ends, whatever becomes of the connection.
import { type Client, Failure, isOf, pathTo } from '../api/client.ts';
import { parse } from '../api/json.ts';
import { object, text } from '../api/read.ts';

/** The ways in which looking at a run ends: its last event came, its events are gone, or there is no such run. */
export type Followed = 'ended' | 'gone' | 'missing';

const LAST = new Set(['finished', 'failed', 'paused', 'interrupted']);

export interface Following {
  event: (value: unknown) => void;
  /** Told when the connection is lost, and when it is back. */
  lost: (isLost: boolean) => void;
  signal: AbortSignal;
}

export async function follow(client: Client, run: string, { event, lost, signal }: Following): Promise<Followed> {
  let after: string | undefined;
  let attempt = 0;
  for (;;) {
    try {
      for await (const told of client.stream(pathTo('runs', run, '/events'), after, signal)) {
        attempt = 0;
        lost(false);
        after = told.id;
        const value = parse(told.data);
        event(value);
        const { type, end } = object(value);
        const last = object(type === 'snapshot' ? end : value);
        // A run of a server that stops goes on at another one.
        if (LAST.has(text(last.type)) && last.reason !== 'stopping') {
          return 'ended';
        }
      }
    } catch (error) {
      if (signal.aborted) {
        throw error;
      }
      if (isOf(error, 410)) {
        return 'gone';
      }
      if (isOf(error, 404)) {
        return 'missing';
      }
      if (!(error instanceof Failure && error.passes)) {
        throw error;
      }
    }
    lost(true);
    await pause(Math.min(500 * 2 ** attempt, 10_000) * (0.75 + Math.random() / 2), signal);
    attempt += 1;
  }
}

/** Waits that long, or until the browser says that the network is back. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      signal.aborted ? reject(signal.reason as Error) : resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}
