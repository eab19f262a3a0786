// The conversation between its head and the box: messages, and their end, which stays in sight unless the reader leaves it.
import { html, nothing, type ReactiveController, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { Answer, Message, Question } from '../state/model.ts';
import type { ChatHost } from './chat-host.ts';
import './composer.ts';
import { icon } from './icons.ts';
import './message.ts';
import { queue } from './queue.ts';
import { start } from './start.ts';

/** The pixels above the end at which a reader has left it. */
const NEAR = 48;

type Versions = { all: string[]; at: number };

export class Talk implements ReactiveController {
  /** True while the reader looks at something above the end. */
  private isAway = false;
  /** The newest answer as it was when the reader left its end. */
  private read: Answer['parts'] | undefined;
  private growing: ResizeObserver | undefined;
  private known: Record<string, Versions> = {};
  /** True from when the reader folds something until its size has changed, if it does: it stays where it is. */
  private isFolding = false;

  constructor(private readonly host: ChatHost) {
    host.addController(this);
  }

  hostUpdated(): void {
    const { log } = this;
    if (log && !this.growing) {
      this.growing = new ResizeObserver(this.resized);
      this.growing.observe(log.firstElementChild as Element);
      this.growing.observe(log);
    }
    if (!log) {
      this.hostDisconnected();
    }
    this.follow();
  }

  hostDisconnected(): void {
    this.growing?.disconnect();
    this.growing = undefined;
  }

  /** Goes to the end, and stays there. */
  toEnd(): void {
    this.isFolding = false;
    this.away(false);
    this.follow();
  }

  private get log(): HTMLElement | null {
    return this.host.renderRoot.querySelector('.log');
  }

  private follow(): void {
    const { log } = this;
    if (log && !this.isAway && !this.isFolding) {
      log.scrollTop = log.scrollHeight;
    }
  }

  private away(isAway: boolean): void {
    if (isAway !== this.isAway) {
      this.isAway = isAway;
      this.read = this.host.chat.last?.parts;
      this.host.requestUpdate();
    }
  }

  private clicked = (event: Event): void => {
    if ((event.target as Element).closest('summary')) {
      this.isFolding = true;
      requestAnimationFrame(() => requestAnimationFrame(() => (this.isFolding = false)));
    }
  };

  private resized = (): void => {
    if (this.isFolding) {
      this.isFolding = false;
      this.scrolled();
    } else {
      this.follow();
    }
  };

  private scrolled = (): void => {
    const { log } = this;
    if (log) {
      this.away(log.scrollHeight - log.scrollTop - log.clientHeight > NEAR);
    }
  };

  render(): TemplateResult {
    const { chat, spoken } = this.host;
    // Words that others take the place of a moment later would move what is seen.
    const isEmpty = chat.isIntroduced && chat.messages.length === 0 && !chat.isLoading;
    const lastQuestion = chat.config.features.fork === false ? undefined : chat.questions.findLast(({ isAside }) => !isAside);
    return html`<div class="log-frame">
        <div class="log" part="log" role="log" aria-live="off" aria-label=${this.host.say('title')} tabindex="0" @scroll=${this.scrolled} @click=${this.clicked}>
          <div class="messages">
            ${isEmpty ? start(chat, this.host.greeting) : nothing}
            ${chat.isLoading ? html`<p class="muted centred"><span class="spinner"></span> ${this.host.say('loading')}</p>` : nothing}
            ${repeat(chat.messages, (message: Message) => message.id, (message, at) => html`<attache-message
              .chat=${chat} .message=${message} .isLast=${at === chat.messages.length - 1} .language=${spoken}
              .asking=${message === chat.last ? chat.calls.asked.join() : ''}
              .versions=${message.role === 'user' ? this.versions(message) : undefined}
              .unsaved=${message.role === 'user' ? chat.unsaved.of(message) : undefined}
              class=${message === lastQuestion ? 'last-question' : ''}></attache-message>`)}
            ${chat.problem ? html`<div class="notice bad" role="alert">${icon('fail')}<p>${chat.problem}</p></div>` : nothing}
          </div>
        </div>
        ${this.isAway
          ? html`<button type="button" class="latest" aria-label=${this.host.say('latest')} title=${this.host.say('latest')} @click=${() => this.toEnd()}>
              ${icon('down')}${chat.last?.parts === this.read ? nothing : html`<span class="dot"></span>`}</button>`
          : nothing}
      </div>
      <div class="foot">
        ${chat.sessions.leaving
          ? html`<div class="toast" role="status"><span>${this.host.say('deleted')}</span><button type="button" class="link" @click=${this.undo}>${this.host.say('undo')}</button></div>`
          : nothing}
        ${queue(chat)}
        <attache-composer .chat=${chat} .session=${chat.session} .isRunning=${chat.isRunning} .uploads=${chat.uploads.all} .most=${chat.config.uploadBytes} .language=${spoken}></attache-composer>
      </div>`;
  }

  /** Takes a deletion back, and shows the conversation again unless another one was begun meanwhile. */
  private undo = (): void => {
    const { chat } = this.host;
    const shown = chat.sessions.undo();
    shown && !chat.session && this.host.openSession(shown);
  };

  /** The same object as before where nothing has changed, so that the message is not made anew. */
  private versions(message: Question): Versions {
    const now = this.host.chat.versionsOf(message);
    const before = this.known[message.id];
    return before && before.at === now.at && before.all.join() === now.all.join() ? before : (this.known[message.id] = now);
  }
}
