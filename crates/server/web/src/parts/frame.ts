// The things around the conversation: its head, the list of conversations, the button that opens the chat.
import { html, nothing, type TemplateResult } from 'lit';
import type { Word } from '../words/en.ts';
import type { ChatHost } from './chat-host.ts';
import { type Icon, icon } from './icons.ts';

/** True if the user may look at other conversations. */
const hasList = ({ chat }: ChatHost): boolean => chat.config.features.sessions !== false && !chat.needsKey;

const button = (host: ChatHost, word: Word, picture: Icon, act: () => unknown, more = '', isOpen: unknown = nothing): TemplateResult =>
  html`<button type="button" class="icon-button ${more}" aria-label=${host.say(word)} title=${host.say(word)} aria-expanded=${isOpen} @click=${act}>${icon(picture)}</button>`;

export const launcher = (host: ChatHost): TemplateResult =>
  html`<button type="button" class="launcher" part="launcher" aria-label=${host.say('open')} aria-expanded=${host.isOpen} @click=${() => host.open()}>${icon('chat')}</button>`;

export function head(host: ChatHost, label: string): TemplateResult {
  const { chat } = host;
  return html`<header class="head" part="head">
      ${hasList(host) ? button(host, 'chats', 'chats', () => host.toggleList(), 'open-list', host.hasList) : nothing}
      <h1 dir="auto">${chat.sessions.titleOf(chat.session) || label}</h1>
      <span class="spread"></span>
      ${button(host, 'newChat', 'plus', () => host.newSession(), 'head-new')}
      ${button(host, 'settings', 'settings', () => host.settings())}
      ${host.isFloating ? button(host, 'close', 'close', () => host.close()) : nothing}
    </header>
    ${chat.isOffline || chat.isReconnecting
      ? html`<p class="banner" role="status">${icon('offline')}${host.say(chat.isOffline ? 'offline' : 'reconnecting')}</p>`
      : nothing}`;
}

export function sessions(host: ChatHost): TemplateResult | typeof nothing {
  const { chat } = host;
  if (!hasList(host)) {
    return nothing;
  }
  const close = () => (host.hasList = false);
  return html`<div class="veil" @click=${close}></div>
    <nav class="sessions" part="sessions" aria-label=${host.say('chats')}>
      <div class="sessions-top">
        <button type="button" class="new-chat" @click=${() => host.newSession()}>${icon('plus')}<span>${host.say('newChat')}</span></button>
        ${button(host, 'close', 'close', close, 'close-list')}
      </div>
      <attache-sessions .chat=${chat} .all=${chat.sessions.all} .current=${chat.session} .query=${chat.sessions.query} .leaving=${chat.sessions.leaving} .language=${host.spoken}></attache-sessions>
    </nav>`;
}
