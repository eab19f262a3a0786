// The box in which the user writes, with the files that go along.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { type Upload, offered, problemOf } from '../state/uploads.ts';
import { fileIcon, icon } from './icons.ts';
import { Part, define, isComposed } from './part.ts';

export class Composer extends Part {
  static override properties = {
    chat: { attribute: false },
    session: { attribute: false },
    isRunning: { attribute: false },
    uploads: { attribute: false },
    most: { attribute: false },
    language: { attribute: false },
    isEmpty: { state: true },
  };
  declare session: string;
  declare isRunning: boolean;
  declare uploads: readonly Upload[];
  declare isEmpty: boolean;

  constructor() {
    super();
    this.isEmpty = true;
  }

  private get area(): HTMLTextAreaElement | null {
    return this.querySelector('textarea');
  }

  override focus(): void {
    this.area?.focus();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('session')) {
      const { area } = this;
      // A draft belongs to its session; what is being written when that gets another id with a question goes along.
      if (area) {
        if (this.isRunning && area.value) {
          this.chat.mine.set(`draft.${changed.get('session')}`, undefined);
        } else {
          area.value = this.chat.mine.get<string>(`draft.${this.session}`) ?? '';
        }
        this.written();
      }
    }
  }

  protected override render(): TemplateResult {
    const { chat } = this;
    const hasUploads = chat.config.features.uploads !== false;
    const canSend = (!this.isEmpty || this.uploads.some((upload) => upload.document)) && !chat.uploads.isBusy;
    return html`<form class="composer" part="composer" @submit=${(event: Event) => (event.preventDefault(), this.send())}>
      ${this.uploads.length > 0
        ? html`<ul class="chips">${repeat(this.uploads, (upload) => upload.id, (upload) => this.chip(upload))}</ul>`
        : nothing}
      <textarea rows="1" dir="auto" aria-label=${this.say('message')} placeholder=${this.say('placeholder')}
        enterkeyhint="send" @input=${this.written} @keydown=${this.pressed} @paste=${this.pasted}></textarea>
      <div class="composer-row">
        ${hasUploads
          ? html`<button type="button" class="icon-button" aria-label=${this.say('attach')}
                title="${this.say('attach')} · ${this.say('limits', { size: chat.speech.size(chat.config.uploadBytes) })}"
                @click=${() => this.querySelector<HTMLInputElement>('input[type=file]')?.click()}>${icon('attach')}</button>
              <input type="file" multiple hidden accept=${offered(chat.config.uploadTypes)} @change=${this.picked}>`
          : nothing}
        <span class="spread"></span>
        ${this.isRunning && this.isEmpty
          ? html`<button type="button" class="send" part="stop" aria-label=${this.say('stop')} title="${this.say('stop')} (Esc)" @click=${() => chat.stop()}>${icon('stop')}</button>`
          : html`<button type="submit" class="send" part="send" ?disabled=${!canSend} aria-label=${this.say('send')} title=${this.say('send')}>${icon('send')}</button>`}
      </div>
    </form>`;
  }

  private chip(upload: Upload): TemplateResult {
    const { speech, config } = this.chat;
    const problem = problemOf(upload, speech, config);
    const share = Math.round(upload.progress * 100);
    return html`<li class="chip ${problem ? 'bad' : ''}" part="attachment">
      ${upload.preview ? html`<img src=${upload.preview} alt="">` : icon(problem ? 'fail' : fileIcon(upload.mediaType))}
      <span class="chip-text">
        <span class="file-name">${upload.name}</span>
        ${problem
          ? html`<span class="small" role="alert">${problem}</span>`
          : upload.document
            ? html`<span class="small muted">${speech.size(upload.size)}</span>`
            : html`<progress max="100" .value=${share} aria-label=${this.say('uploading', { name: upload.name })}></progress>`}
      </span>
      <button type="button" class="icon-button small" aria-label=${this.say('remove', { name: upload.name })} @click=${() => this.chat.uploads.remove(upload.id)}>${icon('close')}</button>
    </li>`;
  }

  private written = (): void => {
    const { area } = this;
    if (!area) {
      return;
    }
    this.isEmpty = area.value.trim() === '';
    this.chat.mine.set(`draft.${this.session}`, area.value);
    if (!CSS.supports('field-sizing', 'content')) {
      area.style.height = 'auto';
      area.style.height = `${area.scrollHeight}px`;
    }
  };

  private pressed = (event: KeyboardEvent): void => {
    if (isComposed(event)) {
      return;
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === 'ArrowUp' && this.isEmpty) {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent('edit-last', { bubbles: true }));
    }
  };

  private send(): void {
    const { area, chat } = this;
    if (!area || chat.uploads.isBusy || (this.isEmpty && chat.uploads.documents.length === 0)) {
      return;
    }
    const text = area.value;
    area.value = '';
    this.written();
    this.dispatchEvent(new CustomEvent('said', { bubbles: true }));
    void chat.send(text);
    area.focus();
  }

  private pasted = (event: ClipboardEvent): void => {
    const { files, types = [] } = event.clipboardData ?? {};
    // Cells and words of an office program come with a picture of them.
    if (files?.length && !(types.includes('text/html') && types.includes('text/plain'))) {
      event.preventDefault();
      this.add(files);
    }
  };

  private picked = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    this.add(input.files ?? []);
    input.value = '';
  };

  add(files: Iterable<File>): void {
    if (this.chat.config.features.uploads !== false) {
      this.chat.uploads.add(files, this.chat.config);
      this.focus();
    }
  }
}
define('attache-composer', Composer);
