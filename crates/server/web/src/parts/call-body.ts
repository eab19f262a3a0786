// The inside of a call: its arguments, its result, its documents.
import { html, nothing, type TemplateResult } from 'lit';
import type { Answer, Call } from '../state/model.ts';
import { verdictOf } from './call.ts';
import { card } from './documents.ts';
import { Part, define } from './part.ts';
import { title } from './title.ts';
import { value } from './value.ts';

class CallBody extends Part {
  static override properties = { chat: { attribute: false }, call: { attribute: false }, answer: { attribute: false }, asked: { attribute: false }, language: { attribute: false } };
  declare call: Call;
  declare answer: Answer;
  /** True if the page asks the user before it makes the call. */
  declare asked: boolean;

  protected override render(): TemplateResult {
    const { chat, answer, asked: isAsked } = this;
    // The tool was called with the arguments that were approved.
    const call = { ...this.call, arguments: this.call.decided?.arguments ?? this.call.arguments };
    const { speech } = chat;
    const hasDetails = call.arguments !== undefined || call.result !== undefined || call.raw !== '';
    const isLost = call.state === 'frontend' && !chat.tools.get(call.name);
    return html`<div class="call-body">
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
        ? html`<div class="files">${call.documents.map((document) => card(document, chat, answer))}</div>`
        : nothing}
      ${isLost ? html`<p class="muted small">${speech.say('noHandler')}</p>` : nothing}
      ${isLost || isAsked
        ? html`<div class="buttons">
            ${isAsked
              ? html`<button type="button" class="primary" @click=${() => chat.calls.allow(call.id)}>${speech.say('approve')}</button>`
              : nothing}
            <button type="button" @click=${() => chat.skip(this.call)}>${speech.say('skip')}</button>
          </div>`
        : nothing}
    </div>`;
  }
}
define('attache-call', CallBody);
