// A call of a tool: one line that opens to arguments and result.
import { html, nothing, type TemplateResult } from 'lit';
import type { Chat } from '../state/chat.ts';
import type { Call, CallState, Sight } from '../state/model.ts';
import type { Word } from '../words/en.ts';
import './clock.ts';
import { card } from './documents.ts';
import { type Icon, icon } from './icons.ts';
import { title, value } from './value.ts';

const STATES: Record<CallState, [Word, Icon | 'spin']> = {
  writing: ['stateWriting', 'spin'],
  requested: ['stateRequested', 'clock'],
  approval: ['stateApproval', 'hand'],
  question: ['stateQuestion', 'ask'],
  deferred: ['stateDeferred', 'clock'],
  running: ['stateRunning', 'spin'],
  frontend: ['stateFrontend', 'page'],
  done: ['stateDone', 'check'],
  failed: ['stateFailed', 'fail'],
  denied: ['stateDenied', 'close'],
  cancelled: ['stateCancelled', 'close'],
};

/** The time that it took, or takes. */
export function took(chat: Chat, began: number | undefined, ended: number | undefined): TemplateResult | typeof nothing {
  if (began === undefined) {
    return nothing;
  }
  return ended === undefined
    ? html`<attache-clock .speech=${chat.speech} .since=${began}></attache-clock>`
    : ended - began >= 100
      ? html`<span>${chat.speech.time(ended - began)}</span>`
      : nothing;
}

export function state(chat: Chat, call: Call): TemplateResult {
  const [word, picture] = STATES[call.state];
  return html`<span class="state is-${call.state}">
    ${picture === 'spin' ? html`<span class="spinner"></span>` : icon(picture)}<span>${chat.speech.say(word)}</span>
  </span>`;
}

export function verdictOf(chat: Chat, call: Call): string {
  const by = call.decided?.by ?? '';
  const word: Word =
    call.decided?.decision === 'deny' ? 'deniedBy' : call.decided?.decision === 'edit' ? 'editedBy' : 'approvedBy';
  return chat.speech.say(word, { by }) + (call.decided?.text ? `: ${call.decided.text}` : '');
}

export function callCard(chat: Chat, call: Call, sights: readonly Sight[] = []): TemplateResult {
  const { speech } = chat;
  const isOfPage = call.state === 'frontend' || chat.tools.get(call.name) !== undefined;
  const hasDetails = call.arguments !== undefined || call.result !== undefined || call.raw !== '';
  const isLost = call.state === 'frontend' && !chat.tools.get(call.name);
  const isAsked = chat.calls.asked.includes(call.id);
  return html`<details class="call" part="tool" ?open=${call.state === 'failed' || isAsked || isLost}>
    <summary>
      ${icon('right')}<span class="call-name" title=${call.name}>${title(call.name)}</span>
      ${isOfPage ? html`<span class="badge">${speech.say('inPage')}</span>` : nothing}
      <span class="spread"></span>
      <span class="muted small">${took(chat, call.began, call.ended)}</span>
      ${state(chat, call)}
    </summary>
    <div class="call-body">
      ${call.inside.length > 0 ? html`<p class="muted small">${call.inside.map(title).join(' · ')}</p>` : nothing}
      ${hasDetails
        ? html`<p class="label">${speech.say('arguments')}</p>
            ${call.arguments === undefined && call.raw ? html`<pre class="value" tabindex="0">${call.raw}</pre>` : value(call.arguments ?? {}, speech)}`
        : html`<p class="muted small">${speech.say('hidden')}</p>`}
      ${call.decided ? html`<p class="muted small">${verdictOf(chat, call)}</p>` : nothing}
      ${call.result === undefined
        ? nothing
        : html`<p class="label">${speech.say('result')}</p>
            ${value(call.result, speech, call.documents)}`}
      ${call.documents.length > 0
        ? html`<div class="files">${call.documents.map((document) => card(document, chat, sights))}</div>`
        : nothing}
      ${isLost ? html`<p class="muted small">${speech.say('noHandler')}</p>` : nothing}
      ${isLost || isAsked
        ? html`<div class="buttons">
            ${isAsked
              ? html`<button type="button" class="primary" @click=${() => chat.calls.allow(call.id)}>${speech.say('approve')}</button>`
              : nothing}
            <button type="button" @click=${() => chat.skip(call)}>${speech.say('skip')}</button>
          </div>`
        : nothing}
    </div>
  </details>`;
}
