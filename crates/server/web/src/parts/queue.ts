// Messages that wait until the answer under way has ended.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { Chat } from '../state/chat.ts';
import { icon } from './icons.ts';

export function queue(chat: Chat): TemplateResult | typeof nothing {
  const { speech } = chat;
  if (chat.queue.length === 0) {
    return nothing;
  }
  // The server takes nothing before somebody has decided.
  const isAsked = chat.last?.parts.some((part) => part.kind === 'call' && part.state === 'approval');
  const waits = speech.say(chat.isOpen ? 'queued' : 'unsent');
  return html`<ul class="queue" aria-label=${waits}>
    ${repeat(chat.queue, (queued) => queued.id, (queued) => html`<li>
      ${icon(queued.isHeld ? 'warn' : 'clock')}<span class="file-name" title=${queued.isHeld ? speech.say('held') : waits}>${queued.text || speech.say('files', { n: queued.documents.length })}</span>
      ${!isAsked && (!chat.isRunning || queued.documents.length === 0)
        ? html`<button type="button" class="link small" @click=${() => chat.interject(queued.id)}>${speech.say('sendNow')}</button>`
        : nothing}
      <button type="button" class="icon-button small" aria-label=${speech.say('remove', { name: queued.text })} @click=${() => chat.unqueue(queued.id)}>${icon('close')}</button>
    </li>`)}
  </ul>`;
}
