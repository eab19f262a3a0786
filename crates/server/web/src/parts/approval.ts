// A call that waits for somebody's decision, and a tool that asks the user.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { numeral } from '../api/json.ts';
import { list, object, text } from '../api/read.ts';
import type { Call } from '../state/model.ts';
import { icon } from './icons.ts';
import { type Drafts, editor, edited, table } from './arguments.ts';
import { Part, define } from './part.ts';
import { title } from './title.ts';

/** The time after a card came by itself in which a key may still be meant for what was there before. */
const MEANT = 600;

/** Focus goes to what asks the user, unless that is where somebody writes: the next letter would decide. True if it went. */
function takeFocus(card: Part): boolean {
  const root = card.getRootNode() as ShadowRoot;
  const isFree = !root.activeElement?.matches('textarea, input, select') && root.host.contains(document.activeElement);
  if (isFree) {
    card.querySelector<HTMLElement>('.approval')?.focus({ preventScroll: false });
  }
  return isFree;
}

class ApprovalCard extends Part {
  static override properties = { chat: { attribute: false }, call: { attribute: false }, mode: { state: true }, problem: { state: true }, isBusy: { state: true } };
  declare call: Call;
  declare mode: 'ask' | 'deny' | 'edit';
  declare problem: string;
  declare isBusy: boolean;

  constructor() {
    super();
    [this.mode, this.problem, this.isBusy] = ['ask', '', false];
  }

  /** The time from which on keys are meant for the card. */
  private heeds = 0;

  protected override firstUpdated(): void {
    this.heeds = takeFocus(this) ? performance.now() + MEANT : 0;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('mode') && this.mode !== 'ask') {
      this.querySelector<HTMLElement>('textarea, .arguments input')?.focus();
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { approval } = this.call;
    if (!approval) {
      return nothing;
    }
    const id = `approval-${approval.id}`;
    return html`<section
      class="approval" part="approval" role="alertdialog" aria-modal="false" tabindex="-1"
      aria-labelledby=${id} @keydown=${this.pressed}>
      <p class="approval-question" id=${id}>
        ${icon('hand')}<strong>${approval.reason || this.say('approveQuestion', { name: title(approval.name) })}</strong>
      </p>
      ${approval.reason ? html`<p class="muted small">${title(approval.name)}</p>` : nothing}
      ${this.mode === 'edit'
        ? editor(approval.arguments, this.drafts, this.chat.speech, () => this.requestUpdate())
        : table(approval.arguments, this.chat.speech)}
      ${this.mode === 'deny'
        ? html`<label class="field"><span>${this.say('denyReason')}</span><textarea rows="2"></textarea></label>`
        : nothing}
      ${this.problem ? html`<p class="bad small" role="alert">${this.problem}</p>` : nothing}
      <div class="buttons">${this.mode === 'ask' ? this.choices() : this.confirmation()}</div>
      ${approval.expiresAt > Date.now() && approval.expiresAt < Date.now() + 3_600_000
        ? html`<p class="muted small">${this.say('expires', { time: this.chat.speech.time(approval.expiresAt - Date.now()) })}</p>`
        : nothing}
    </section>`;
  }

  private choices(): TemplateResult {
    return html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.approve}>${this.say('approve')}</button>
      <button type="button" ?disabled=${this.isBusy} @click=${() => (this.mode = 'deny')}>${this.say('deny')}</button>
      <button type="button" ?disabled=${this.isBusy} @click=${() => (this.mode = 'edit')}>${this.say('edit')}</button>
      <span class="spread"></span>
      <button type="button" class="quiet" ?disabled=${this.isBusy} @click=${() => this.decide({ decision: 'always' })}>${this.say('always')}</button>`;
  }

  private confirmation(): TemplateResult {
    return html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.confirm}>
        ${this.say(this.mode === 'edit' ? 'approveEdited' : 'deny')}
      </button>
      <button type="button" @click=${this.cancel}>${this.say('cancel')}</button>`;
  }

  private cancel = (): void => {
    this.drafts.clear();
    this.leave();
  };

  /** Goes back to the choices. The edits are there again with the next one. */
  private leave(): void {
    [this.mode, this.problem] = ['ask', ''];
    this.querySelector<HTMLElement>('.approval')?.focus();
  }

  /** The arguments as they are being edited. */
  private drafts: Drafts = new Map();

  private approve = (): void => void this.decide({ decision: 'approve' });

  private confirm = (): void => {
    const written = this.querySelector('textarea')?.value ?? '';
    if (this.mode === 'deny') {
      void this.decide({ decision: 'deny', text: written.trim() });
      return;
    }
    try {
      void this.decide({ decision: 'edit', arguments: edited(this.call.approval?.arguments, this.drafts) });
    } catch {
      this.problem = this.say('invalidJson');
    }
  };

  private async decide(decision: Parameters<typeof this.chat.decide>[1]): Promise<void> {
    const { approval } = this.call;
    if (approval && !this.isBusy) {
      this.isBusy = true;
      await this.chat.decide(approval, decision);
      this.isBusy = false;
    }
  }

  private pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && this.mode !== 'ask' && !event.isComposing) {
      event.stopPropagation();
      this.leave();
      return;
    }
    if (event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const key = event.key.toLowerCase();
    if (this.mode === 'ask' && event.timeStamp > this.heeds && (key === 'a' || key === 'd' || key === 'e')) {
      event.preventDefault();
      key === 'a' ? this.approve() : (this.mode = key === 'd' ? 'deny' : 'edit');
    }
  };
}
define('attache-approval', ApprovalCard);

/** A tool asks the user: one of several answers, or any. */
class QuestionCard extends Part {
  static override properties = { chat: { attribute: false }, call: { attribute: false } };
  declare call: Call;

  protected override firstUpdated(): void {
    takeFocus(this);
  }

  protected override render(): TemplateResult {
    const { prompt, schema } = this.call.question ?? {};
    const from = object(schema);
    const choices = from.type === 'boolean' ? [true, false] : list(from.enum);
    const id = `question-${this.call.id}`;
    const skip = html`<span class="spread"></span>
      <button type="button" class="quiet" @click=${() => this.chat.skip(this.call)}>${this.say('skip')}</button>`;
    return html`<section class="approval" part="question" role="group" tabindex="-1" aria-labelledby=${id}>
      <p class="approval-question" id=${id}>${icon('ask')}<strong>${prompt || text(from.title) || title(this.call.name)}</strong></p>
      ${text(from.description) ? html`<p class="muted small">${text(from.description)}</p>` : nothing}
      ${choices.length > 0
        ? html`<div class="buttons">
            ${choices.map((choice) => html`<button type="button" @click=${() => this.answer(choice)}>${String(choice)}</button>`)}
            ${skip}
          </div>`
        : html`<form @submit=${this.submit}>
            ${from.type === 'object' ? this.fields(from) : this.field('', from, true)}
            <div class="buttons"><button type="submit" class="primary">${this.say('answer')}</button>${skip}</div>
          </form>`}
    </section>`;
  }

  private fields(schema: Record<string, unknown>): unknown {
    const required = list(schema.required);
    return Object.entries(object(schema.properties)).map(([name, each]) => this.field(name, object(each), required.includes(name)));
  }

  private field(name: string, schema: Record<string, unknown>, isRequired: boolean): TemplateResult {
    const label = text(schema.title) || text(schema.description) || (name ? title(name) : this.say('yourAnswer'));
    const choices = list(schema.enum).map(String);
    return html`<label class="field"><span>${label}</span>
      ${schema.type === 'boolean'
        ? html`<input type="checkbox" name=${name} data-type="boolean">`
        : choices.length > 0
          ? html`<select name=${name} ?required=${isRequired}>${choices.map((choice) => html`<option>${choice}</option>`)}</select>`
          : html`<input name=${name} ?required=${isRequired} autocomplete="off" data-type=${text(schema.type)}
              type=${schema.type === 'number' || schema.type === 'integer' ? 'number' : 'text'} step=${schema.type === 'integer' ? '1' : 'any'}>`}
    </label>`;
  }

  private submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const all: Record<string, unknown> = {};
    for (const input of this.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')) {
      const isBox = input instanceof HTMLInputElement && input.type === 'checkbox';
      const isNumber = input instanceof HTMLInputElement && input.type === 'number';
      if (isBox || input.value !== '') {
        all[input.name] = isBox ? input.checked : isNumber ? numeral(input.value) : input.value;
      }
    }
    this.answer('' in all ? all[''] : all);
  };

  private answer(value: unknown): void {
    void this.chat.reply(this.call.id, value);
  }
}
define('attache-question', QuestionCard);
