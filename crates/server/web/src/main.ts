// The script of the chat: it knows `<attache-chat>`, and puts one on the page where its own element asks for it.
import { AttacheChat } from './element.ts';
import { adopt } from './global.ts';
import { define } from './parts/part.ts';

const script = document.currentScript as HTMLScriptElement | null;
const facts = { ...script?.dataset };

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
