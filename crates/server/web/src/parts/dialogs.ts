// Small windows over the chat: settings with the keys of the keyboard, and the key of the server.
import { html, type TemplateResult } from 'lit';
import type { Word } from '../words/en.ts';
import { LANGUAGES } from '../words/words.ts';
import { icon } from './icons.ts';
import { Part, define } from './part.ts';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const command = isMac ? '⌘' : 'Ctrl';

const KEYS: [string[], Word][] = [
  [['Enter'], 'shortcutSend'],
  [['Shift', 'Enter'], 'shortcutLine'],
  [['Esc'], 'shortcutStop'],
  [['↑'], 'shortcutEdit'],
  [[command, 'Shift', 'O'], 'shortcutNew'],
  [['A', 'D', 'E'], 'shortcutApprove'],
  [[command, '/'], 'shortcutHelp'],
];

class Settings extends Part {
  static override properties = { chat: { attribute: false }, language: { attribute: false }, theme: { attribute: false } };
  declare theme: string;

  /** Opens as a window of its own: the rest waits. */
  show(): void {
    this.querySelector('dialog')?.showModal();
  }

  protected override render(): TemplateResult {
    const close = () => this.querySelector('dialog')?.close();
    const outside = (event: MouseEvent) => event.target === event.currentTarget && close();
    const chosen = (name: 'language' | 'theme') => (event: Event) =>
      this.dispatchEvent(new CustomEvent(`choose-${name}`, { detail: (event.target as HTMLSelectElement).value, bubbles: true }));
    return html`<dialog part="dialog" aria-labelledby="settings-title" @click=${outside}>
      <div class="dialog">
        <header>
          <h2 id="settings-title">${this.say('settings')}</h2>
          <button type="button" class="icon-button" aria-label=${this.say('close')} @click=${close}>${icon('close')}</button>
        </header>
        <label class="field"><span>${this.say('language')}</span>
          <select @change=${chosen('language')}>
            ${Object.entries(LANGUAGES).map(([tag, name]) => html`<option value=${tag} lang=${tag} ?selected=${this.chat.speech.language === tag}>${name}</option>`)}
          </select></label>
        <label class="field"><span>${this.say('theme')}</span>
          <select @change=${chosen('theme')}>
            ${(['auto', 'light', 'dark'] as const).map((theme) => {
              const word: Word = theme === 'auto' ? 'themeAuto' : theme === 'light' ? 'themeLight' : 'themeDark';
              return html`<option value=${theme} ?selected=${this.theme === theme}>${this.say(word)}</option>`;
            })}
          </select></label>
        <h3>${this.say('shortcuts')}</h3>
        <dl class="keys">
          ${KEYS.map(([keys, word]) => html`<dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${this.say(word)}</dd>`)}
        </dl>
      </div>
    </dialog>`;
  }
}
define('attache-settings', Settings);
export type { Settings };

class KeyForm extends Part {
  static override properties = { chat: { attribute: false }, isWrong: { attribute: false }, language: { attribute: false } };
  declare isWrong: boolean;

  /** On a page that is nothing but the chat, whoever writes writes the key. */
  protected override firstUpdated(): void {
    const { host } = this.getRootNode() as ShadowRoot;
    host.matches('[mode=page]') && this.querySelector('input')?.focus();
  }

  protected override render(): TemplateResult {
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      const key = this.querySelector('input')?.value.trim();
      if (key) {
        void this.chat.useKey(key);
      }
    };
    return html`<form class="key-form" @submit=${submit}>
      <h2>${this.say('keyNeeded')}</h2>
      <label class="field"><span>${this.say('key')}</span>
        <input type="password" autocomplete="off" required aria-invalid=${this.isWrong}></label>
      ${this.isWrong ? html`<p class="bad small" role="alert">${this.say('keyWrong')}</p>` : html`<p class="muted small">${this.say('keyKept')}</p>`}
      <button type="submit" class="primary">${this.say('connect')}</button>
    </form>`;
  }
}
define('attache-key', KeyForm);
