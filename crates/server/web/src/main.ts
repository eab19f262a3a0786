// The script of the chat: it knows `<attache-chat>`, and puts one on the page where its own element asks for it.
import { list } from './api/read.ts';
import { AttacheChat } from './element.ts';
import { define } from './parts/part.ts';

type Wish = [string, ...unknown[]];

/** The chat for pages that only have the script: calls from before it was there wait in `q`. */
interface Global {
  q?: { push(...wishes: Wish[]): unknown };
  element?: AttacheChat;
  [name: string]: unknown;
}

const script = document.currentScript as HTMLScriptElement | null;
const facts = { ...script?.dataset };

const NAMES = ['registerTool', 'setContext', 'setHeaders', 'setAuth', 'send', 'newSession', 'openSession', 'open', 'close', 'destroy'] as const;

/** Gives the page the chat that has come, unless it has one. */
function adopt(event: Event): void {
  const global = ((window as unknown as { attache?: Global }).attache ??= {});
  const element = event.composedPath()[0] as AttacheChat;
  if (global.element?.isConnected) {
    return;
  }
  global.element = element;
  for (const name of NAMES) {
    global[name] = (...args: unknown[]) => (element[name] as (...args: unknown[]) => unknown)(...args);
  }
  Object.defineProperty(global, 'session', { get: () => element.session, configurable: true });
  const waiting = list(global.q) as Wish[];
  const push = (...wishes: Wish[]) => wishes.forEach(([name, ...args]) => (global[name] as ((...args: unknown[]) => unknown) | undefined)?.(...args));
  // A later call need not wait.
  global.q = { push };
  push(...waiting);
}

function mount(): void {
  if (facts.mode && !document.querySelector('attache-chat')) {
    const element = document.createElement('attache-chat');
    for (const [name, value] of Object.entries(facts)) {
      element.setAttribute(name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), value ?? '');
    }
    const place = facts.container ? document.querySelector(facts.container) : null;
    (place ?? document.body).append(element);
  }
}

addEventListener('attache-ready', adopt);
define('attache-chat', AttacheChat);
if (document.readyState === 'loading') {
  document.addEventListener('DOMContentLoaded', mount, { once: true });
} else {
  mount();
}
