// The list of conversations.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { root } from '../state/branches.ts';
import type { SessionInfo } from '../state/model.ts';
import type { Word } from '../words/en.ts';
import { type Icon, icon } from './icons.ts';
import { Part, define, isComposed } from './part.ts';

const DAY = 86_400_000;

/** The word for the time at which something was last asked in a session. */
function age(session: SessionInfo): Word {
  const today = new Date().setHours(0, 0, 0, 0);
  return session.updated >= today
    ? 'today'
    : session.updated >= today - DAY
      ? 'yesterday'
      : session.updated >= today - 7 * DAY
        ? 'week'
        : 'earlier';
}

class Sessions extends Part {
  static override properties = {
    chat: { attribute: false },
    all: { attribute: false },
    current: { attribute: false },
    query: { attribute: false },
    leaving: { attribute: false },
    language: { attribute: false },
    renaming: { state: true },
  };
  declare all: readonly SessionInfo[];
  declare current: string;
  declare query: string;
  declare renaming: string;

  protected override render(): TemplateResult {
    const { chat } = this;
    const shown = chat.sessions.shown;
    const groups = new Map<Word, SessionInfo[]>();
    const isPinned = (session: SessionInfo) => this.pins.includes(root(chat.origins, session.id));
    for (const session of [...shown.filter(isPinned), ...shown.filter((session) => !isPinned(session))]) {
      const word = isPinned(session) ? 'pinned' : age(session);
      groups.set(word, [...(groups.get(word) ?? []), session]);
    }
    return html`<div class="sessions-head">
        <label class="search">${icon('search')}
          <input type="search" aria-label=${this.say('search')} placeholder=${this.say('search')} .value=${this.query}
            @input=${(event: Event) => chat.sessions.search((event.target as HTMLInputElement).value)}>
        </label>
      </div>
      <div class="sessions-list" @keydown=${this.moved}>
        ${shown.length === 0 ? html`<p class="muted small empty-list">${this.say(this.query ? 'noneFound' : 'noChats')}</p>` : nothing}
        ${[...groups].map(
          ([word, sessions]) => html`<h3 class="muted small">${this.say(word)}</h3>
            <ul>${repeat(sessions, (session) => session.id, (session) => this.row(session))}</ul>`,
        )}
        ${chat.sessions.hasMore ? html`<button type="button" class="quiet small more" @click=${this.more}>${this.say('showMore')}</button>` : nothing}
      </div>`;
  }

  /** Loads further ones, and goes to the first of them. */
  private more = async (): Promise<void> => {
    const { sessions } = this.chat;
    const known = new Set(this.querySelectorAll('.session'));
    await sessions.more().catch(() => undefined);
    this.requestUpdate();
    await this.updateComplete;
    [...this.querySelectorAll('.session')].find((row) => !known.has(row))?.querySelector<HTMLElement>('button')?.focus();
  };

  /** The first versions of the conversations that stand above the others, in this browser. */
  private get pins(): string[] {
    return this.chat.kept.get<string[]>('pins') ?? [];
  }

  private pin(id: string): void {
    const { pins } = this;
    this.chat.kept.set('pins', pins.includes(id) ? pins.filter((each) => each !== id) : [...pins, id]);
    this.requestUpdate();
  }

  private row(session: SessionInfo): TemplateResult {
    const { chat } = this;
    const title = session.title || this.say('untitled');
    const first = root(chat.origins, session.id);
    const isAtWork = chat.sessions.isAtWork(session);
    const isCurrent = this.current !== '' && first === root(chat.origins, this.current);
    if (this.renaming === session.id) {
      const save = (event: Event) => {
        const words = (event.target as HTMLInputElement).value.trim();
        if (this.renaming && words && words !== title) {
          void chat.sessions.rename(session.id, words).catch(() => chat.sessions.load());
        }
        this.renaming = '';
      };
      const pressed = (event: KeyboardEvent) => {
        if (isComposed(event)) {
          return;
        }
        if (event.key === 'Enter') {
          save(event);
        } else if (event.key === 'Escape') {
          event.stopPropagation();
          this.renaming = '';
        }
      };
      return html`<li><input class="rename" aria-label=${this.say('renameChat')} .value=${title} @blur=${save} @keydown=${pressed}></li>`;
    }
    const rename = () => {
      this.renaming = session.id;
      void this.updateComplete.then(() => this.querySelector<HTMLInputElement>('.rename')?.select());
    };
    return html`<li class="session ${isCurrent ? 'current' : ''}" part="session">
      <button type="button" class="session-title" aria-current=${isCurrent ? 'true' : nothing}
        @click=${() => this.dispatchEvent(new CustomEvent('open-session', { detail: session.id, bubbles: true }))}>
        <span dir="auto">${title}</span>${isAtWork ? html`<span class="dot" role="img" aria-label=${this.say('working')} title=${this.say('working')}></span>` : nothing}
      </button>
      <span class="session-tools">
        ${this.tool(this.pins.includes(first) ? 'unpin' : 'pin', 'pin', title, () => this.pin(first))}
        ${chat.config.features.rename === false
          ? nothing
          : this.tool('rename', 'edit', title, rename)}
        ${this.tool('delete', 'bin', title, () => {
          chat.sessions.delete(session, isCurrent ? chat.session : '');
          // What is written from now on belongs to a new one.
          isCurrent && this.dispatchEvent(new CustomEvent('open-session', { detail: '', bubbles: true }));
        })}
      </span>
    </li>`;
  }

  private tool(word: Word, picture: Icon, title: string, act: () => void): TemplateResult {
    return html`<button type="button" class="icon-button small" aria-label="${this.say(word)}: ${title}" title=${this.say(word)} @click=${act}>${icon(picture)}</button>`;
  }

  /** The arrow keys go through the list. */
  private moved = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') {
      return;
    }
    const all = [...this.querySelectorAll<HTMLElement>('.session-title')];
    const at = all.indexOf((this.getRootNode() as ShadowRoot).activeElement as HTMLElement);
    if (at >= 0) {
      event.preventDefault();
      all[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
    }
  };
}
define('attache-sessions', Sessions);
