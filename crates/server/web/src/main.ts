// The script of the chat: it knows `<attache-chat>`, and puts one on the page where its own element asks for it.
import { AttacheChat } from './element.ts';

/** The chat for pages that only have the script: calls from before it was loaded wait in `q`. */
interface Global {
  q?: [string, ...unknown[]][];
  element?: AttacheChat;
  [name: string]: unknown;
}

const script = document.currentScript as HTMLScriptElement | null;
const facts = { ...script?.dataset };

if (!customElements.get('attache-chat')) {
  customElements.define('attache-chat', AttacheChat);
}

const NAMES = ['registerTool', 'setContext', 'setHeaders', 'setAuth', 'send', 'newSession', 'openSession', 'open', 'close', 'destroy'] as const;

function mount(): void {
  const global = ((window as unknown as { attache?: Global }).attache ??= {});
  let element = document.querySelector<AttacheChat>('attache-chat');
  if (facts.mode && !element) {
    element = document.createElement('attache-chat') as AttacheChat;
    for (const [name, value] of Object.entries(facts)) {
      element.setAttribute(name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), value ?? '');
    }
    const place = facts.container ? document.querySelector(facts.container) : null;
    (place ?? document.body).append(element);
  }
  if (!element) {
    return;
  }
  const made = element;
  const waiting = global.q ?? [];
  global.element = made;
  for (const name of NAMES) {
    global[name] = (...args: unknown[]) => (made[name] as (...args: unknown[]) => unknown)(...args);
  }
  for (const [name, ...args] of waiting) {
    (global[name] as ((...args: unknown[]) => unknown) | undefined)?.(...args);
  }
  global.q = [];
}

if (document.readyState === 'loading') {
  document.addEventListener('DOMContentLoaded', mount, { once: true });
} else {
  mount();
}
