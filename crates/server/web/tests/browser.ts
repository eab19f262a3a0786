// The parts of a browser without which no chat is made, and a chat with a server of ours.
import { Chat } from '../src/state/chat.ts';

const nothing = () => undefined;
const storage = { getItem: () => null, setItem: nothing, removeItem: nothing };
export const define = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
define('window', {});
define('document', { hidden: false });
define('navigator', { onLine: true, languages: ['en'] });
define('localStorage', storage);
define('sessionStorage', storage);
define('addEventListener', nothing);
define('removeEventListener', nothing);
define('requestAnimationFrame', nothing);

/** Lets all that is there already happen. */
export const turn = () => new Promise((next) => setTimeout(next, 5));

type Ask = (method: string, path: string, body?: { message?: string; mustExist?: boolean }) => unknown;

/** A chat on a page. `asked` is what it asks of the server, `signals` are those of the streams that it follows. */
export function chatWith(ask: Ask, stream: (path: string, signal: AbortSignal) => AsyncIterable<object>) {
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  let count = 0;
  const client = {
    base: 'https://server.example',
    agent: '',
    ask: async (method: string, path: string, body?: { message?: string }) => {
      asked.push(`${method} ${path}${body?.message ? ` ${body.message}` : ''}`);
      return ask(method, path, body);
    },
    async *stream(path: string, _after: string | undefined, signal: AbortSignal) {
      signals.push(signal);
      for await (const event of stream(path, signal)) {
        yield { id: String((count += 1)), data: JSON.stringify(event) };
      }
    },
  };
  return { chat: new Chat(client as never), asked, signals };
}
