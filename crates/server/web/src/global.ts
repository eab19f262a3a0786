// `window.attache`: the chat for pages that only have the script.
import { list } from './api/read.ts';
import type { AttacheChat } from './element.ts';

type Wish = [string, ...unknown[]];

/** Calls from before the chat was there wait in `q`. */
interface Global {
  q?: { push(...wishes: Wish[]): unknown };
  element?: AttacheChat;
  [name: string]: unknown;
}

const NAMES = ['registerTool', 'setContext', 'setHeaders', 'setAuth', 'send', 'newSession', 'openSession', 'open', 'close', 'destroy'] as const;

/** Calls from while the chat of the page was away. */
const kept: Wish[] = [];

/** Gives the page the chat that has come, unless it has another one. */
export function adopt(event: Event): void {
  const global = ((window as unknown as { attache?: Global }).attache ??= {});
  const element = event.composedPath()[0] as AttacheChat;
  // Of a chat in a closed shadow root nobody outside is told more than the element around.
  if (element.localName !== 'attache-chat' || (global.element !== element && global.element?.isConnected)) {
    return;
  }
  global.element = element;
  for (const name of NAMES) {
    global[name] = (...args: unknown[]) => (element[name] as (...args: unknown[]) => unknown)(...args);
  }
  Object.defineProperty(global, 'session', { get: () => element.session, configurable: true });
  const waiting = [...(list(global.q) as Wish[]), ...kept.splice(0)];
  const push = (...wishes: Wish[]) =>
    wishes.forEach((wish) => {
      const [name, ...args] = wish;
      element.isConnected ? (global[name] as ((...args: unknown[]) => unknown) | undefined)?.(...args) : kept.push(wish);
    });
  // A later call need not wait, unless the chat is gone.
  global.q = { push };
  push(...waiting);
}
