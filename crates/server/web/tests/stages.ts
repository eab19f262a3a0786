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

/** A chat in which a question has its answer, and whose questions fail while `server.isDown`. Its session tells `all`. */
export async function answered() {
  const heard = channel();
  const all = [{ role: 'user', id: 'u', parts: part('first') }, { role: 'assistant', id: 'a', runId: 'r', parts: part('It is.') }];
  const server = { isDown: false };
  const stage = chatWith(
    (method, path) => {
      if (method === 'POST' && server.isDown) {
        throw offline();
      }
      return method === 'POST' ? { runId: 'r' } : path.startsWith('/v1/sessions/') ? { messages: all, runs: [{ id: 'r', ended: 5 }] } : { sessions: [] };
    },
    async function* () {
      yield { type: 'finished', reason: 'answer' };
    },
  );
  define('window', {});
  stage.chat.session = 's';
  await stage.chat.send('first');
  return { ...stage, heard, all, server };
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
