// A conversation before its first message: a sentence, questions to choose from, the place for files.
import { html, nothing, type TemplateResult } from 'lit';
import type { Chat } from '../state/chat.ts';
import { icon } from './icons.ts';

/** The most questions that are offered. */
const MOST = 4;

export function start(chat: Chat, greeting: string): TemplateResult {
  const { config, speech } = chat;
  return html`<div class="empty" part="empty">
    <h2 dir="auto">${greeting || config.greeting || speech.say('welcome')}</h2>
    ${config.examples.length > 0
      ? html`<div class="examples">${config.examples.slice(0, MOST).map((example) => html`<button type="button" dir="auto" ?disabled=${chat.uploads.isBusy} @click=${() => chat.send(example)}>${example}</button>`)}</div>`
      : nothing}
    ${config.features.uploads === false ? nothing : html`<p class="note muted small">${icon('attach')}${speech.say('dropHere')}</p>`}
  </div>`;
}
