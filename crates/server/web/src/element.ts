// `<attache-chat>`: the chat as an element of HTML.
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { Client, type HeaderSource } from './api/client.ts';
import './parts/composer.ts';
import type { Composer } from './parts/composer.ts';
import type { Settings } from './parts/dialogs.ts';
import { divider, paneWidth } from './parts/divider.ts';
import { citedDocument } from './parts/documents.ts';
import { hint, unhint } from './parts/hint.ts';
import { icon } from './parts/icons.ts';
import './parts/message.ts';
import type { MessageView } from './parts/message.ts';
import type { Opening } from './parts/part.ts';
import { queue } from './parts/queue.ts';
import { start } from './parts/start.ts';
import { routeOf } from './state/address.ts';
import { Chat } from './state/chat.ts';
import type { Told } from './state/connection.ts';
import type { Answer, Citation, Message } from './state/model.ts';
import type { Handler, PageTool } from './state/tools.ts';
import { styles } from './styles/styles.ts';
import './shared.ts';
import type { Word } from './words/en.ts';

/** The address of the server by that of the script. Asked for at once: later nobody knows it. */
const script = document.currentScript as HTMLScriptElement | null;
const BASE = script?.src ? new URL('.', script.src).href.replace(/\/$/, '') : '';

type More = typeof import('./more.ts');

export type Mode = 'inline' | 'sidebar' | 'popup' | 'page';

/** The page that is nothing but the chat. */
const GROUND = new CSSStyleSheet();
GROUND.replaceSync('html,body{margin:0;padding:0}@media screen{html,body{height:100%;overflow:hidden}}');

const MODES = new Set(['inline', 'sidebar', 'popup', 'page']);

export class AttacheChat extends LitElement {
  static override styles = styles;
  static override properties = {
    agent: { type: String },
    mode: { type: String, reflect: true },
    server: { type: String },
    theme: { type: String, reflect: true },
    language: { type: String },
    heading: { type: String },
    greeting: { type: String },
    pageTools: { type: String, attribute: 'page-tools' },
    isOpen: { type: Boolean, reflect: true, attribute: 'open' },
    hasList: { state: true },
    opening: { state: true },
    sight: { state: true },
    isAway: { state: true },
    isDropping: { state: true },
    spoken: { state: true },
    tick: { state: true },
  };
  declare agent: string;
  declare mode: Mode;
  declare server: string;
  declare theme: string;
  declare language: string;
  declare heading: string;
  declare greeting: string;
  declare pageTools: string;
  declare isOpen: boolean;
  declare hasList: boolean;
  declare opening: Opening | undefined;
  declare sight: Answer | undefined;
  /** True while the reader looks at something above the end. */
  declare isAway: boolean;
  declare isDropping: boolean;
  declare spoken: string;
  declare tick: number;

  private made: Chat | undefined;
  private unsubscribe: (() => void) | undefined;
  private growing: ResizeObserver | undefined;
  private returnTo: HTMLElement | undefined;
  private taken: (() => void)[] = [];

  constructor() {
    super();
    [this.agent, this.mode, this.server, this.theme, this.language] = ['', 'inline', '', '', ''];
    [this.heading, this.greeting, this.pageTools, this.spoken] = ['', '', '', 'en'];
    [this.isOpen, this.hasList, this.isAway, this.isDropping, this.tick] = [false, false, false, false, 0];
  }

  // For the page around

  /** The state of the conversation. */
  private get chat(): Chat {
    this.made ??= new Chat(new Client((this.server || BASE).replace(/\/$/, ''), this.agent));
    return this.made;
  }

  /** Offers a tool of the page to the model. Yields what takes it back. */
  registerTool(tool: PageTool, handler: Handler): () => void {
    return this.chat.tools.register(tool, handler);
  }

  /** Tells the model a fact about the page with each turn; `undefined` takes it back. */
  setContext(key: string, value: unknown): void {
    value === undefined ? this.chat.context.delete(key) : this.chat.context.set(key, value);
  }

  /** Sets headers for each request, or a function that is asked for them each time. */
  setHeaders(headers: HeaderSource): void {
    this.chat.headers = headers;
    if (this.hasUpdated) {
      void this.begin();
    }
  }

  /** Asks for a token before each request. */
  setAuth(token: () => string | Promise<string>): void {
    this.setHeaders(async () => ({ Authorization: `Bearer ${await token()}` }));
  }

  /** Says something in the name of the user, with files. */
  async send(text: string, files: Iterable<File> = []): Promise<void> {
    const { chat } = this;
    chat.uploads.add(files, chat.config.uploadBytes);
    while (chat.uploads.isBusy) {
      await new Promise((next) => setTimeout(next, 50));
    }
    await chat.send(text);
  }

  newSession(): void {
    void this.show('');
  }

  /** Shows a session. */
  openSession(id: string): void {
    void this.show(id);
  }

  /** The session that is shown; empty for a new one. */
  get session(): string {
    return this.chat.session;
  }

  open(): void {
    if (!this.isOpen) {
      this.returnTo = (document.activeElement as HTMLElement | null) ?? undefined;
      this.isOpen = true;
      this.chat.kept.set('open', true);
      this.dispatchEvent(new CustomEvent('attache-open', { bubbles: true, composed: true }));
      void this.updateComplete.then(() => this.composer?.focus());
    }
  }

  close(): void {
    if (this.isOpen) {
      this.isOpen = false;
      this.chat.kept.set('open', undefined);
      this.dispatchEvent(new CustomEvent('attache-close', { bubbles: true, composed: true }));
      void this.updateComplete.then(() => {
        const launcher = this.renderRoot.querySelector<HTMLElement>('.launcher');
        (launcher ?? this.returnTo)?.focus();
      });
    }
  }

  /** Takes the element out of the page, and all that it listens to. */
  destroy(): void {
    this.remove();
  }

  // Life

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.mode === 'page') {
      document.adoptedStyleSheets.push(GROUND);
    }
    if (!MODES.has(this.mode)) {
      this.mode = 'inline';
    }
    this.toggleAttribute('host-font', hasFont(this));
    const { chat } = this;
    this.unsubscribe = chat.subscribe(() => {
      this.tick += 1;
      if (this.isLocked && !chat.needsKey) {
        this.isLocked = false;
        void this.enter();
      }
      this.route();
    });
    chat.tell = (told) => this.tell(told);
    this.style.setProperty('--attache-pane', `${paneWidth(chat)}px`);
    this.theme ||= chat.kept.get<string>('theme') ?? 'auto';
    addEventListener('keydown', this.pressed);
    addEventListener('hashchange', this.routed);
    this.isOpen ||= this.isFloating && chat.kept.get('open') === true && !matchMedia('(max-width: 640px)').matches;
    void this.begin();
    this.dispatchEvent(new CustomEvent('attache-ready', { bubbles: true, composed: true }));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.unsubscribe?.();
    this.growing?.disconnect();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== GROUND);
    removeEventListener('keydown', this.pressed);
    removeEventListener('hashchange', this.routed);
    this.taken.forEach((take) => take());
  }

  private get isFloating(): boolean {
    return this.mode === 'sidebar' || this.mode === 'popup';
  }

  /** Loads what is not seen at first. */
  private more(): Promise<More> {
    this.loading ??= import(`${this.chat.address}/attache-more.js`).then((more: More) => {
      (this.renderRoot as ShadowRoot).adoptedStyleSheets.push(more.later);
      return more;
    });
    this.loading.catch(() => (this.loading = undefined));
    return this.loading;
  }
  private loading: Promise<More> | undefined;

  /** Offers the tools of the browser that the page allows, unless it has one of that name. */
  private async offer(): Promise<void> {
    const { tools } = this.chat;
    const { offers } = await this.more();
    this.taken = offers(this.pageTools).map(([tool, handler]) => (tools.get(tool.name) ? () => undefined : tools.register(tool, handler)));
  }

  private async settings(): Promise<void> {
    await this.more();
    await this.updateComplete;
    this.renderRoot.querySelector<Settings>('attache-settings')?.show();
  }

  private async begin(): Promise<void> {
    const { chat } = this;
    void this.more().catch(() => undefined);
    if (this.pageTools && this.taken.length === 0) {
      await this.offer().catch(() => undefined);
    }
    const language = this.language || chat.kept.get<string>('language') || document.documentElement.lang || navigator.language;
    await chat.speech.use(language, chat.address).catch(() => undefined);
    this.spoken = chat.speech.language;
    await chat.start();
    this.isLocked = chat.needsKey !== false;
    if (!this.isLocked) {
      await this.enter();
    }
  }

  /** True until the key that the server asks for is there. */
  private isLocked = false;

  private async enter(): Promise<void> {
    const { chat } = this;
    void chat.sessions.load().catch(() => undefined);
    const id = this.mode === 'page' ? routeOf(location.hash) : (chat.kept.get<string>(`last.${location.pathname}`) ?? '');
    if (id && id !== chat.session) {
      await this.show(id);
    }
    this.isRouted = true;
    if (this.mode === 'page') {
      this.composer?.focus();
    }
  }

  private async show(id: string): Promise<void> {
    [this.opening, this.sight, this.isAway] = [undefined, undefined, false];
    if (this.isNarrow) {
      this.hasList = false;
    }
    await this.chat.open(id);
    this.isRouted = true;
    this.route();
    await this.updateComplete;
    this.scrollDown();
    this.composer?.focus();
  }

  private routed = (): void => {
    if (this.mode === 'page' && routeOf(location.hash) !== this.chat.session) {
      void this.show(routeOf(location.hash));
    }
  };

  /** True once the session that the address names is shown. */
  private isRouted = false;

  /** Puts the session in the address, so that it can be kept and shared. */
  private route(): void {
    const { session } = this.chat;
    if (!this.isRouted) {
      return;
    }
    if (this.mode === 'page') {
      if (routeOf(location.hash) !== session) {
        history.pushState(null, '', session ? `#/s/${encodeURIComponent(session)}` : location.pathname + location.search);
      }
    } else {
      this.chat.kept.set(`last.${location.pathname}`, session);
    }
  }

  private tell(told: Told): void {
    const { type, ...detail } = told;
    this.dispatchEvent(new CustomEvent(`attache-${type}`, { detail: 'message' in detail && typeof detail.message === 'object' ? detail.message : detail, bubbles: true, composed: true }));
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('agent') && this.made) {
      this.made.client.agent = this.agent;
    }
    if (changed.has('language') && this.language && this.hasUpdated) {
      void this.speak(this.language);
    }
  }

  protected override updated(): void {
    const log = this.log;
    if (log && !this.growing) {
      this.growing = new ResizeObserver(() => this.isAway || this.scrollDown());
      this.growing.observe(log.firstElementChild as Element);
      this.growing.observe(log);
    }
    if (!log) {
      this.growing?.disconnect();
      this.growing = undefined;
    }
    if (!this.isAway) {
      this.scrollDown();
    }
  }

  private get log(): HTMLElement | null {
    return this.renderRoot.querySelector('.log');
  }

  private get composer(): Composer | null {
    return this.renderRoot.querySelector('attache-composer');
  }

  private get isNarrow(): boolean {
    return (this.renderRoot.querySelector('.shell')?.clientWidth ?? 0) < 900;
  }

  private scrollDown(): void {
    const { log } = this;
    if (log) {
      log.scrollTop = log.scrollHeight;
    }
  }

  /** The newest answer as it was when the reader left its end. */
  private read: Answer['parts'] | undefined;

  private scrolled = (): void => {
    const { log } = this;
    if (log) {
      const isAway = log.scrollHeight - log.scrollTop - log.clientHeight > 48;
      if (isAway && !this.isAway) {
        this.read = this.chat.last?.parts;
      }
      this.isAway = isAway;
    }
  };

  private async speak(language: string): Promise<void> {
    await this.chat.speech.use(language, this.chat.address).catch(() => undefined);
    this.spoken = this.chat.speech.language;
  }

  private say(word: Word, facts?: Record<string, string | number>): string {
    return this.chat.speech.say(word, facts);
  }

  // Keys

  private pressed = (event: KeyboardEvent): void => {
    const isHere = this.mode === 'page' || event.composedPath().includes(this);
    if (!isHere || event.defaultPrevented) {
      return;
    }
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.shiftKey && event.key.toLowerCase() === 'o') {
      event.preventDefault();
      this.newSession();
    } else if (isCommand && event.key === '/') {
      event.preventDefault();
      void this.settings();
    } else if (event.key === 'Escape' && !event.isComposing && !this.renderRoot.querySelector('dialog[open]')) {
      this.escape();
    }
  };

  private escape(): void {
    if (this.chat.isRunning) {
      void this.chat.stop();
    } else if (this.opening || this.sight) {
      this.closePane();
    } else if (this.hasList && this.isNarrow) {
      this.hasList = false;
    } else if (this.isFloating) {
      this.close();
    }
  }

  private closePane(): void {
    [this.opening, this.sight] = [undefined, undefined];
    this.returnTo?.isConnected ? this.returnTo.focus() : this.composer?.focus();
  }

  // What is shown

  protected override render(): TemplateResult {
    const { speech } = this.chat;
    const direction = speech.isRightToLeft ? 'rtl' : 'ltr';
    if (this.isFloating && !this.isOpen) {
      return html`<div class="shell launcher-only" dir=${direction} lang=${speech.language}>${this.launcher()}</div>`;
    }
    const hasPane = this.opening !== undefined || this.sight !== undefined;
    const label = this.heading || this.chat.config.title || this.say('title');
    return html`<div class="shell ${this.mode} ${this.hasList ? 'has-list' : ''} ${hasPane ? 'has-pane' : ''}" part="shell"
      dir=${direction} lang=${speech.language} role=${this.mode === 'page' ? nothing : 'complementary'} aria-label=${this.mode === 'page' ? nothing : label}
      @open-document=${this.openDocument} @open-citation=${this.openCitation} @open-sight=${this.openSight} @close-pane=${() => this.closePane()}
      @open-session=${(event: CustomEvent<string>) => this.show(event.detail)} @edit-last=${this.editLast} @said=${this.said}
      @click=${this.clicked} @pointerover=${this.hinted} @focusin=${this.hinted} @pointerout=${this.unhinted} @focusout=${this.unhinted}
      @dragover=${this.dragged} @dragleave=${this.dragLeft} @drop=${this.dropped}
      @choose-language=${this.chooseLanguage} @choose-theme=${this.chooseTheme}>
      <div class="frame">
        ${this.list()}
        ${this.mode === 'page' ? html`<main class="conversation" part="conversation">${this.conversation(label)}</main>` : html`<div class="conversation" part="conversation">${this.conversation(label)}</div>`}
        ${hasPane
          ? html`<aside class="pane" part="pane" aria-label=${this.say(this.opening ? 'document' : 'sight')}>
                ${divider(this.chat, this, () => (this.tick += 1))}
                <attache-pane .chat=${this.chat} .opening=${this.opening} .sight=${this.sight} .language=${this.spoken}></attache-pane>
              </aside>`
          : nothing}
      </div>
      <div class="hint" hidden></div>
      ${this.isDropping ? html`<div class="dropping">${icon('attach')}<p>${this.say('drop')}</p></div>` : nothing}
      ${this.chat.sessions.leaving
        ? html`<div class="toast" role="status"><span>${this.say('deleted')}</span><button type="button" class="link" @click=${() => this.chat.sessions.undo()}>${this.say('undo')}</button></div>`
        : nothing}
      <attache-settings .chat=${this.chat} .language=${this.spoken} .theme=${this.theme}></attache-settings>
      <div class="only-heard" role="status" aria-live="polite">${this.chat.announced}</div>
    </div>`;
  }

  private launcher(): TemplateResult {
    return html`<button type="button" class="launcher" part="launcher" aria-label=${this.say('open')} aria-expanded=${this.isOpen} @click=${() => this.open()}>${icon('chat')}</button>`;
  }

  private list(): TemplateResult | typeof nothing {
    const { chat } = this;
    if (chat.config.features.sessions === false || chat.needsKey) {
      return nothing;
    }
    return html`<div class="veil" @click=${() => (this.hasList = false)}></div>
      <nav class="sessions" part="sessions" aria-label=${this.say('chats')}>
        <div class="sessions-top">
          <button type="button" class="new-chat" @click=${() => this.newSession()}>${icon('plus')}<span>${this.say('newChat')}</span></button>
          <button type="button" class="icon-button close-list" aria-label=${this.say('close')} @click=${() => (this.hasList = false)}>${icon('close')}</button>
        </div>
        <attache-sessions .chat=${chat} .all=${chat.sessions.all} .current=${chat.session} .query=${chat.sessions.query} .language=${`${this.spoken} ${chat.sessions.leaving?.id ?? ''}`}></attache-sessions>
      </nav>`;
  }

  private conversation(label: string): TemplateResult {
    const { chat } = this;
    const title = chat.sessions.all.find((session) => session.id === chat.session)?.title;
    return html`<header class="head" part="head">
        ${chat.config.features.sessions === false || chat.needsKey
          ? nothing
          : html`<button type="button" class="icon-button open-list" aria-label=${this.say('chats')} title=${this.say('chats')} aria-expanded=${this.hasList}
              @click=${this.toggleList}>${icon('chats')}</button>`}
        <h1 dir="auto">${(chat.session && title) || label}</h1>
        <span class="spread"></span>
        <button type="button" class="icon-button head-new" aria-label=${this.say('newChat')} title=${this.say('newChat')} @click=${() => this.newSession()}>${icon('plus')}</button>
        <button type="button" class="icon-button" aria-label=${this.say('settings')} title=${this.say('settings')} @click=${() => this.settings()}>${icon('settings')}</button>
        ${this.isFloating ? html`<button type="button" class="icon-button" aria-label=${this.say('close')} title=${this.say('close')} @click=${() => this.close()}>${icon('close')}</button>` : nothing}
      </header>
      ${chat.isOffline || chat.isReconnecting
        ? html`<p class="banner" role="status">${icon('offline')}${this.say(chat.isOffline ? 'offline' : 'reconnecting')}</p>`
        : nothing}
      ${chat.needsKey ? html`<attache-key .chat=${chat} .isWrong=${chat.needsKey === 'wrong'} .language=${this.spoken}></attache-key>` : this.talk()}`;
  }

  private talk(): TemplateResult {
    const { chat } = this;
    const isEmpty = chat.messages.length === 0 && !chat.isLoading;
    const lastQuestion = chat.questions.at(-1);
    return html`<div class="log-frame">
        <div class="log" part="log" role="log" aria-live="off" aria-label=${this.say('title')} tabindex="0" @scroll=${this.scrolled}>
          <div class="messages">
            ${isEmpty ? start(chat, this.greeting) : nothing}
            ${chat.isLoading ? html`<p class="muted centred"><span class="spinner"></span> ${this.say('loading')}</p>` : nothing}
            ${repeat(chat.messages, (message: Message) => message.id, (message, at) => html`<attache-message
              .chat=${chat} .message=${message} .isLast=${at === chat.messages.length - 1} .language=${this.spoken}
              .asking=${message === chat.last ? chat.calls.asked.join() : ''}
              .versions=${message.role === 'user' ? this.versions(message) : undefined}
              class=${message === lastQuestion ? 'last-question' : ''}></attache-message>`)}
            ${chat.problem ? html`<div class="notice bad" role="alert">${icon('fail')}<p>${chat.problem}</p></div>` : nothing}
          </div>
        </div>
        ${this.isAway
          ? html`<button type="button" class="latest" aria-label=${this.say('latest')} title=${this.say('latest')} @click=${() => ((this.isAway = false), this.scrollDown())}>
              ${icon('down')}${chat.last?.parts === this.read ? nothing : html`<span class="dot"></span>`}</button>`
          : nothing}
      </div>
      <div class="foot">
        ${queue(chat)}
        <attache-composer .chat=${chat} .session=${chat.session} .isRunning=${chat.isRunning} .uploads=${chat.uploads.all} .language=${`${this.spoken} ${chat.config.uploadBytes}`}></attache-composer>
      </div>`;
  }

  private known: Record<string, { all: string[]; at: number }> = {};

  /** The same object as before where nothing has changed, so that the message is not made anew. */
  private versions(message: Message & { role: 'user' }): { all: string[]; at: number } {
    const now = this.chat.versionsOf(message);
    const before = this.known[message.id];
    if (before && before.at === now.at && before.all.join() === now.all.join()) {
      return before;
    }
    this.known[message.id] = now;
    return now;
  }

  // What happens

  private toggleList = (): void => {
    this.hasList = !this.hasList;
    if (this.hasList) {
      void this.chat.sessions.load().catch(() => undefined);
      void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.sessions input')?.focus());
    }
  };

  private openDocument = (event: CustomEvent<Opening>): void => {
    this.returnTo = (this.shadowRoot?.activeElement as HTMLElement | null) ?? undefined;
    [this.opening, this.sight] = [event.detail, undefined];
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.close-pane')?.focus());
  };

  private openSight = (event: CustomEvent<Answer>): void => {
    this.returnTo = (this.shadowRoot?.activeElement as HTMLElement | null) ?? undefined;
    [this.opening, this.sight] = [undefined, event.detail];
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.close-pane')?.focus());
  };

  private openCitation = (event: CustomEvent<Citation>): void => {
    const { source } = event.detail;
    if (source.kind === 'url' && /^https?:\/\//i.test(source.id)) {
      window.open(source.id, '_blank', 'noopener,noreferrer');
    } else if (source.kind === 'document') {
      const document = citedDocument(this.chat.messages, event.detail);
      this.openDocument(new CustomEvent('open-document', { detail: { document, citation: event.detail } }));
    }
  };

  private citationOf(target: EventTarget | null): Citation | undefined {
    const button = (target as HTMLElement | null)?.closest?.<HTMLElement>('[data-cite]');
    const message = button?.closest<MessageView>('attache-message');
    return message?.cited[Number(button?.dataset.cite) - 1]?.citation;
  }

  private clicked = (event: MouseEvent): void => {
    const citation = this.citationOf(event.target);
    if (citation) {
      this.openCitation(new CustomEvent('open-citation', { detail: citation }));
    }
  };

  private hinted = (event: Event): void => {
    const citation = this.citationOf(event.target);
    if (citation) {
      hint(this.renderRoot, event.target as HTMLElement, citation, this.chat.speech);
    }
  };

  private unhinted = (): void => unhint(this.renderRoot);

  private said = (): void => {
    this.isAway = false;
  };

  private editLast = (): void => {
    const all = this.renderRoot.querySelectorAll<MessageView>('attache-message.last-question');
    all[all.length - 1]?.edit();
  };

  private chooseLanguage = (event: CustomEvent<string>): void => {
    this.chat.kept.set('language', event.detail);
    void this.speak(event.detail);
  };

  private chooseTheme = (event: CustomEvent<string>): void => {
    this.theme = event.detail;
    this.chat.kept.set('theme', event.detail);
  };

  private dragged = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files')) {
      event.preventDefault();
      this.isDropping = true;
    }
  };

  private dragLeft = (event: DragEvent): void => {
    if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) {
      this.isDropping = false;
    }
  };

  private dropped = (event: DragEvent): void => {
    this.isDropping = false;
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) {
      event.preventDefault();
      this.composer?.add(files);
    }
  };
}

/** True if the page names a font, which is the chat's then too. */
function hasFont(element: HTMLElement): boolean {
  const plain = document.createElement('i');
  plain.style.fontFamily = 'initial';
  element.append(plain);
  const [own, initial] = [element, plain].map((each) => getComputedStyle(each).fontFamily);
  plain.remove();
  return own !== initial;
}
