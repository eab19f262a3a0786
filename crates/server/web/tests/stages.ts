// Chats in situations that several tests are about.
import { Failure } from '../src/api/client.ts';
import { chatWith, define } from './browser.ts';

export const never = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
export const part = (text: string) => [{ type: 'text', text }];
export const busy = () => new Failure('a run is under way', 409, 'session_busy');
export const offline = () => new Failure('', 0, 'offline');
export const waits = ({ queue }: { queue: readonly { text: string }[] }) => queue.map(({ text }) => text);

/** Storage of a tab. */
export function storage() {
  const held = new Map<string, string>();
  define('sessionStorage', { getItem: (name: string) => held.get(name) ?? null, setItem: (name: string, value: string) => held.set(name, value), removeItem: (name: string) => held.delete(name) });
}

/** A chat whose requests to some paths are answered when the test says so, and fail otherwise as it says. */
export function held(isHeld: (asked: string) => boolean, told: (asked: string) => unknown = () => ({ messages: [], runs: [], sessions: [] })) {
  const waiting: { settle: (told: unknown) => void; fail: (error: unknown) => void }[] = [];
  const stage = chatWith(
    (method, path) => (isHeld(`${method} ${path}`) ? new Promise((settle, fail) => waiting.push({ settle, fail })) : told(`${method} ${path}`)),
    async function* (_path, signal) {
      yield await never(signal);
    },
  );
  return { ...stage, waiting };
}

/** A channel between tabs for chats that are made from now on, and the way to say on it that a session is another one. */
export function channel() {
  let heard: (event: { data: object }) => void = () => undefined;
  class Channel {
    addEventListener = (_type: string, act: typeof heard) => (heard = act);
    postMessage() {}
    close() {}
  }
  define('window', { BroadcastChannel: Channel });
  define('BroadcastChannel', Channel);
  return (session: string) => heard({ data: { session } });
}
