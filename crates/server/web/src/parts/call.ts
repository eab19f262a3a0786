// A call of a tool: one line that opens to arguments and result.
import { html, nothing, type TemplateResult } from 'lit';
import { object } from '../api/read.ts';
import type { Chat } from '../state/chat.ts';
import type { Answer, Call, CallState } from '../state/model.ts';
import type { Word } from '../words/en.ts';
import './clock.ts';
import { type Icon, icon } from './icons.ts';
import { title } from './title.ts';

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

/** How far it has come, while it runs. */
function far(call: Call): TemplateResult | typeof nothing {
  const { share, text } = call.progress ?? {};
  return call.state !== 'running' || !call.progress
    ? nothing
    : html`${text ? html`<span class="muted small far">${text}</span>` : nothing}
        ${share === undefined ? nothing : html`<progress max="1" .value=${share} aria-label=${title(call.name)}></progress>`}`;
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
  const { text, at } = call.decided ?? {};
  return `${chat.speech.say(word, { by })}${text ? `: ${text}` : ''}${at ? ` · ${chat.speech.moment(at)}` : ''}`;
}

export function callCard(chat: Chat, call: Call, answer: Answer): TemplateResult {
  const { speech } = chat;
  const isOfPage = call.state === 'frontend' || chat.tools.get(call.name) !== undefined;
  const isLost = call.state === 'frontend' && !chat.tools.get(call.name);
  const isAsked = chat.calls.asked.includes(call.id);
  // The first text among the arguments is mostly what the call is about: a path, or words to search for.
  const about = Object.values(object(call.decided?.arguments ?? call.arguments)).find((value) => typeof value === 'string') as string | undefined;
  return html`<details class="call" part="tool" ?open=${call.state === 'failed' || isAsked || isLost}>
    <summary>
      ${icon('right')}${icon(isOfPage ? 'page' : 'tool')}<span class="call-name" title=${call.name}>${title(call.name)}</span>
      ${about ? html`<span class="muted small file-name" dir="auto">${about.slice(0, 120)}</span>` : nothing}
      ${isOfPage ? html`<span class="badge">${speech.say('inPage')}</span>` : nothing}
      <span class="spread"></span>
      ${far(call)}
      <span class="muted small">${took(chat, call.began, call.ended)}</span>
      ${state(chat, call)}
    </summary>
    <attache-call .chat=${chat} .call=${call} .answer=${answer} .asked=${isAsked} .language=${speech.language}></attache-call>
  </details>`;
}
