// A call that waits for somebody's decision, and a tool that asks the user.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { object, text } from '../api/read.ts';
import type { Call } from '../state/model.ts';
import { icon } from './icons.ts';
import { type Drafts, editor, edited, table } from './arguments.ts';
import { choices, fields, filled } from './fields.ts';
import { Part, define } from './part.ts';
import { title } from './title.ts';

/** The time after a card came by itself in which a key may still be meant for what was there before. */
const MEANT = 600;

/** The reason that a configuration without one of its own gives: it says the same of each tool, so that the tool is the question. */
export const MAY_CHANGE = 'the tool may change something';

/** Focus goes to what asks the user, unless that is where somebody writes or decides: the next letter would decide. True if it went. */
function takeFocus(card: Part): boolean {
  const root = card.getRootNode() as ShadowRoot;
  const isFree = !root.activeElement?.matches('textarea, input, select, .approval, .approval *') && root.host.contains(document.activeElement);
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
  private timer: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.timer = setInterval(() => this.requestUpdate(), 1000);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  /** False for whoever may only look. */
  private get mayDecide(): boolean {
    return this.chat.config.features.approvals !== false;
  }

  protected override firstUpdated(): void {
    this.heeds = this.mayDecide && takeFocus(this) ? performance.now() + MEANT : 0;
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
    const name = title(approval.name);
    const reason = approval.reason === MAY_CHANGE ? '' : approval.reason;
    const rest = approval.expiresAt - Date.now();
    return html`<section
      class="approval" part="approval" role="alertdialog" aria-modal="false" tabindex="-1"
      aria-labelledby=${id} @keydown=${this.pressed}>
      <p class="approval-question" id=${id}>
        ${icon('hand')}<strong>${reason || this.say('approveQuestion', { name })}</strong>
      </p>
      ${approval.reason ? html`<p>${reason ? name : this.say('mayChange')}</p>` : nothing}
      ${this.mode === 'edit'
        ? editor(approval.arguments, this.drafts, this.chat.speech, () => this.requestUpdate())
        : table(approval.arguments, this.chat.speech)}
      ${this.mode === 'deny'
        ? html`<label class="field"><span>${this.say('denyReason')}</span><textarea rows="2"></textarea></label>`
        : nothing}
      ${this.problem ? html`<p class="bad small" role="alert">${this.problem}</p>` : nothing}
      ${this.mayDecide ? html`<div class="buttons">${this.mode === 'ask' ? this.choices() : this.confirmation()}</div>` : nothing}
      ${rest > 0 && rest < 3_600_000 ? html`<p class="muted small">${this.say('expires', { time: this.chat.speech.time(Math.ceil(rest / 1000) * 1000) })}</p>` : nothing}
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
    if (this.mayDecide && this.mode === 'ask' && event.timeStamp > this.heeds && (key === 'a' || key === 'd' || key === 'e')) {
      event.preventDefault();
      key === 'a' ? this.approve() : (this.mode = key === 'd' ? 'deny' : 'edit');
    }
  };
}
define('attache-approval', ApprovalCard);

/** A tool asks the user: one of several answers, or any. */
class QuestionCard extends Part {
  static override properties = { chat: { attribute: false }, call: { attribute: false }, isBusy: { state: true } };
  declare call: Call;
  declare isBusy: boolean;

  constructor() {
    super();
    this.isBusy = false;
  }

  protected override firstUpdated(): void {
    takeFocus(this);
  }

  protected override render(): TemplateResult {
    const { prompt } = this.call.question ?? {};
    const { schema } = this;
    const all = schema.type === 'boolean' ? [true, false].map((value) => ({ value, label: String(value) })) : choices(schema);
    const id = `question-${this.call.id}`;
    const skip = html`<span class="spread"></span>
      <button type="button" class="quiet" ?disabled=${this.isBusy} @click=${() => this.chat.skip(this.call)}>${this.say('skip')}</button>`;
    return html`<section class="approval" part="question" role="group" tabindex="-1" aria-labelledby=${id}>
      <p class="approval-question" id=${id}>${icon('ask')}<strong>${prompt || text(schema.title) || title(this.call.name)}</strong></p>
      ${text(schema.description) ? html`<p class="muted small">${text(schema.description)}</p>` : nothing}
      ${all.length > 0
        ? html`<div class="buttons">
            ${all.map(({ value, label }) => html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.answer(value)}>${label}</button>`)}
            ${skip}
          </div>`
        : html`<form @submit=${this.submit}>
            ${fields(schema, this.say('yourAnswer'))}
            <div class="buttons"><button type="submit" class="primary" ?disabled=${this.isBusy}>${this.say('answer')}</button>${skip}</div>
          </form>`}
    </section>`;
  }

  private get schema(): Record<string, unknown> {
    return object(this.call.question?.schema);
  }

  private submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void this.answer(filled(this.schema, this.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')));
  };

  private async answer(value: unknown): Promise<void> {
    if (!this.isBusy) {
      this.isBusy = true;
      await this.chat.reply(this.call.id, value);
      this.isBusy = false;
    }
  }
}
define('attache-question', QuestionCard);
