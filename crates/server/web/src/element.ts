// `<attache-chat>`: the chat as an element of HTML.
import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { Client, type HeaderSource } from './api/client.ts';
import { Beside } from './parts/beside.ts';
import type { ChatHost } from './parts/chat-host.ts';
import type { Composer } from './parts/composer.ts';
import type { Settings } from './parts/dialogs.ts';
import { Drop } from './parts/drop.ts';
import { Focus } from './parts/focus.ts';
import { head, launcher, sessions } from './parts/frame.ts';
import type { MessageView } from './parts/message.ts';
import { Talk } from './parts/talk.ts';
import { firstSession, keepSession, routeOf } from './state/address.ts';
import { Chat } from './state/chat.ts';
import type { Told } from './state/connection.ts';
import type { Doc } from './state/model.ts';
import type { Handler, PageTool } from './state/tools.ts';
import { problemOf } from './state/uploads.ts';
import { styles } from './styles/styles.ts';
import './shared.ts';
import type { Word } from './words/en.ts';

/** The address of the server by that of the script. Asked for at once: later nobody knows it. */
const script = document.currentScript as HTMLScriptElement | null;
const BASE = script?.src ? new URL('.', script.src).href.replace(/\/$/, '') : '';

type More = Awaited<ReturnType<ChatHost['more']>>;

export type Mode = 'inline' | 'sidebar' | 'popup' | 'page';

/** The page that is nothing but the chat. */
const GROUND = new CSSStyleSheet();
GROUND.replaceSync('html,body{margin:0;padding:0}@media screen{html,body{height:100%;overflow:hidden}}');

const MODES = new Set(['inline', 'sidebar', 'popup', 'page']);

export class AttacheChat extends LitElement implements ChatHost {
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
    spoken: { state: true },
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
  declare spoken: string;

  private made: Chat | undefined;
  private unsubscribe: (() => void) | undefined;
  /** The element of the page that has the focus again when the chat is closed. */
  private returnTo: HTMLElement | undefined;
  private readonly talk = new Talk(this);
  private readonly beside = new Beside(this);
  private readonly drop = new Drop(this);

  constructor() {
    super();
    new Focus(this);
    [this.agent, this.mode, this.server, this.theme, this.language] = ['', 'inline', '', '', ''];
    [this.heading, this.greeting, this.pageTools, this.spoken] = ['', '', '', 'en'];
    [this.isOpen, this.hasList] = [false, false];
  }

  // For the page around

  /** Offers a tool of the page to the model. Yields what takes it back. */
  registerTool(tool: PageTool, handler: Handler): () => void {
    const take = this.chat.tools.register(tool, handler);
    this.chat.answerCalls();
    return take;
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

  /** Sets the token of each request, or a function that is asked for it each time. */
  setAuth(token: string | (() => string | Promise<string>)): void {
    this.setHeaders(async () => ({ Authorization: `Bearer ${typeof token === 'function' ? await token() : token}` }));
  }

  /** Says something in the name of the user, with files. Fails, and says nothing, if one of them is not taken. */
  async send(text: string, files: Iterable<File> = []): Promise<void> {
    const { chat } = this;
    const { uploads, config, speech } = chat;
    const ids = uploads.add(files, config);
    while (uploads.isBusy) {
      await new Promise((next) => setTimeout(next, 50));
    }
    const documents: Doc[] = [];
    for (const id of ids) {
      const upload = uploads.all.find((each) => each.id === id);
      if (!upload?.document) {
        ids.forEach((id) => uploads.remove(id));
        throw new Error(upload ? problemOf(upload, speech, config) : 'a file was taken out');
      }
      documents.push(upload.document);
    }
    await chat.send(text, documents);
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
      this.emit('open');
      void this.updateComplete.then(() => this.composer?.focus());
    }
  }

  close(): void {
    if (this.isOpen) {
      this.isOpen = false;
      this.chat.kept.set('open', undefined);
      this.emit('close');
      void this.updateComplete.then(() => {
        const launcher = this.renderRoot.querySelector<HTMLElement>('.launcher');
        (launcher ?? this.returnTo)?.focus();
      });
    }
  }

  /** Takes the element out of the page, and ends all that it does. */
  destroy(): void {
    this.remove();
  }

  // Life

  override connectedCallback(): void {
    super.connectedCallback();
    this.ground();
    this.toggleAttribute('host-font', hasFont(this));
    const { chat } = this;
    if (chat.wake() && chat.session) {
      // It was taken out of the page, and is put back.
      void chat.open(chat.session);
    }
    this.unsubscribe = chat.subscribe(() => {
      this.requestUpdate();
      if (this.isLocked && !chat.needsKey) {
        this.isLocked = false;
        void this.enter();
      }
      this.route();
    });
    chat.tell = ({ type, ...detail }: Told) => this.emit(type, 'message' in detail && typeof detail.message === 'object' ? detail.message : detail);
    this.theme ||= chat.kept.get<string>('theme') ?? 'auto';
    addEventListener('keydown', this.pressed);
    addEventListener('hashchange', this.routed);
    addEventListener('pagehide', this.route);
    this.isOpen ||= this.isFloating && chat.kept.get('open') === true && !matchMedia('(max-width: 640px)').matches;
    void this.begin();
    this.emit('ready');
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.unsubscribe?.();
    this.ground();
    removeEventListener('keydown', this.pressed);
    removeEventListener('hashchange', this.routed);
    removeEventListener('pagehide', this.route);
    // An element that moves is back at once.
    queueMicrotask(() => {
      if (!this.isConnected) {
        this.chat.close();
      }
    });
  }

  /** Gives the page its styles while it is nothing but the chat. */
  private ground(): void {
    if (!MODES.has(this.mode)) {
      this.mode = 'inline';
    }
    const others = document.adoptedStyleSheets.filter((sheet) => sheet !== GROUND);
    document.adoptedStyleSheets = this.isConnected && this.mode === 'page' ? [...others, GROUND] : others;
  }

  // For the parts of the chat

  /** The state of the conversation. */
  get chat(): Chat {
    this.made ??= new Chat(new Client((this.server || BASE).replace(/\/$/, ''), this.agent));
    return this.made;
  }

  get isFloating(): boolean {
    return this.mode === 'sidebar' || this.mode === 'popup';
  }

  get composer(): Composer | null {
    return this.renderRoot.querySelector('attache-composer');
  }

  say(word: Word, facts?: Record<string, string | number>): string {
    return this.chat.speech.say(word, facts);
  }

  async settings(): Promise<void> {
    await this.more();
    await this.updateComplete;
    this.renderRoot.querySelector<Settings>('attache-settings')?.show();
  }

  toggleList(): void {
    this.hasList = !this.hasList;
    if (this.hasList) {
      void this.chat.sessions.load().catch(() => undefined);
      void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.sessions input')?.focus());
    }
  }

  // Things that come later

  /** Loads what is not seen at first. */
  more(): Promise<More> {
    this.loading ??= import(`${this.chat.address}/attache-more.js`).then((more: More) => {
      (this.renderRoot as ShadowRoot).adoptedStyleSheets.push(more.later);
      this.offer(more);
      return more;
    });
    this.loading.catch(() => (this.loading = undefined));
    return this.loading;
  }
  private loading: Promise<More> | undefined;

  /** Offers the tools of the browser that the page allows, and no others. */
  private offer({ offers }: More): void {
    this.chat.tools.browser = offers(this.pageTools);
    this.chat.answerCalls();
  }

  private async begin(): Promise<void> {
    const { chat } = this;
    const more = this.more().catch(() => undefined);
    // Nothing is said before the tools of the browser are there.
    await (this.pageTools && more);
    // The page that is nothing but the chat is in the language of its reader.
    const page = this.mode === 'page' ? '' : document.documentElement.lang;
    await this.speak(this.language || chat.kept.get<string>('language') || page || navigator.language);
    await chat.start();
    this.isLocked = chat.needsKey !== false;
    if (!this.isLocked) {
      await this.enter();
    }
  }

  private async speak(language: string): Promise<void> {
    await this.chat.speech.use(language, this.chat.address).catch(() => undefined);
    this.spoken = this.chat.speech.language;
  }

  // Sessions

  /** True until the key that the server asks for is there. */
  private isLocked = false;
  /** True once the session that the page begins with is shown. */
  private isRouted = false;

  private async enter(): Promise<void> {
    const { chat } = this;
    void chat.sessions.load().catch(() => undefined);
    if (this.isRouted) {
      // It has other headers now: whoever is in a conversation stays there.
      return;
    }
    const id = firstSession(chat, this.mode === 'page');
    if (id && id !== chat.session) {
      await this.show(id, null);
    }
    this.isRouted = true;
    if (this.mode === 'page') {
      this.toBox(null);
    }
  }

  /** The element that has the focus, in the chat or in the page around. */
  private get focused(): Element | null {
    const { activeElement, body } = document;
    return activeElement === body ? null : ((this.renderRoot as ShadowRoot).activeElement ?? activeElement);
  }

  /** Goes to the box, unless somebody has gone from that place to another one, and may be writing there. */
  private toBox(from: Element | null): void {
    if (!this.focused || this.focused === from) {
      this.composer?.focus();
    }
  }

  /** Shows a session. Whoever began that with a button goes to the box; a field keeps the focus. */
  private async show(id: string, from = (this.renderRoot as ShadowRoot).activeElement?.closest('button,a') ?? null): Promise<void> {
    this.beside.clear();
    if (this.isNarrow) {
      this.hasList = false;
    }
    const { chat } = this;
    if (this.isRouted && id !== chat.session) {
      // They were attached to what is left.
      chat.uploads.clear();
    }
    await chat.open(id);
    this.isRouted = true;
    this.route();
    await this.updateComplete;
    if (!chat.session || chat.session === id) {
      this.talk.toEnd();
      this.toBox(from);
    }
  }

  /** The session that was kept last. A browser that goes back has another address before it says so. */
  private keeping: string | undefined;

  private route = (): void => {
    const { session } = this.chat;
    const isPage = this.mode === 'page';
    // A page around the chat may change its address without being loaded: the session is kept for the new one, too.
    const keeping = session && !isPage ? `${session} ${location.pathname}` : session;
    if (this.isRouted && keeping !== this.keeping) {
      this.keeping = keeping;
      keepSession(this.chat, isPage);
    }
  };

  private routed = (): void => {
    if (this.mode === 'page' && routeOf(location.hash) !== this.chat.session) {
      void this.show(routeOf(location.hash));
    }
  };

  private get isNarrow(): boolean {
    return (this.renderRoot.querySelector('.shell')?.clientWidth ?? 0) < 900;
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
      void this.show('', this.focused);
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
    } else if (this.beside.isOpen) {
      this.beside.close();
    } else if (this.hasList && this.isNarrow) {
      this.hasList = false;
    } else if (this.isFloating) {
      this.close();
    }
  }

  // The picture

  protected override willUpdate(changed: PropertyValues<this>): void {
    changed.has('mode') && this.ground();
    if (changed.has('agent') && this.made) {
      this.made.client.agent = this.agent;
    }
    if (changed.has('language') && this.language && this.hasUpdated) {
      void this.speak(this.language);
    }
    changed.has('pageTools') && void this.more().then((more) => this.offer(more), () => undefined);
  }

  protected override render(): TemplateResult {
    const { beside, chat, drop, talk } = this;
    const { language, isRightToLeft } = chat.speech;
    const direction = isRightToLeft ? 'rtl' : 'ltr';
    if (this.isFloating && !this.isOpen) {
      return html`<div class="shell launcher-only" dir=${direction} lang=${language}>${launcher(this)}</div>`;
    }
    const isPage = this.mode === 'page';
    const label = this.heading || chat.config.title || this.say('title');
    const conversation = html`${head(this, label)} ${chat.needsKey
      ? html`<attache-key .chat=${chat} .isWrong=${chat.needsKey === 'wrong'} .language=${this.spoken}></attache-key>`
      : talk.render()}`;
    return html`<div class="shell ${this.mode} ${this.hasList ? 'has-list' : ''} ${beside.isOpen ? 'has-pane' : ''}" part="shell"
      dir=${direction} lang=${language} role=${isPage ? nothing : 'complementary'} aria-label=${isPage ? nothing : label}
      @open-document=${beside.openDocument} @open-citation=${beside.openCitation} @open-sight=${beside.openSight} @close-pane=${beside.close}
      @open-session=${(event: CustomEvent<string>) => this.show(event.detail)} @edit-last=${this.editLast} @said=${() => talk.toEnd()}
      @click=${beside.clicked} @pointerover=${beside.hinted} @focusin=${beside.hinted} @pointerout=${beside.hinted} @focusout=${beside.hinted}
      @dragover=${drop.over} @dragleave=${drop.left} @drop=${drop.dropped}
      @choose-language=${this.chooseLanguage} @choose-theme=${this.chooseTheme}>
      <div class="frame">
        ${sessions(this)}
        ${isPage ? html`<main class="conversation" part="conversation">${conversation}</main>` : html`<div class="conversation" part="conversation">${conversation}</div>`}
        ${beside.render()}
      </div>
      ${drop.render()}
      <attache-settings .chat=${chat} .language=${this.spoken} .theme=${this.theme}></attache-settings>
      <div class="only-heard" role="status" aria-live="polite">${chat.announced}</div>
    </div>`;
  }

  private editLast = (): void => {
    const all = this.renderRoot.querySelectorAll<MessageView>('attache-message.last-question');
    all[all.length - 1]?.edit();
  };

  private chooseLanguage = (event: CustomEvent<string>): void => {
    // Whoever begins anew, with other headers, stays in it.
    this.language = event.detail;
    this.chat.kept.set('language', event.detail);
  };

  private chooseTheme = (event: CustomEvent<string>): void => {
    this.theme = event.detail;
    this.chat.kept.set('theme', event.detail);
  };

  /** Tells the page around. */
  private emit(type: string, detail?: unknown): void {
    this.dispatchEvent(new CustomEvent(`attache-${type}`, { detail, bubbles: true, composed: true }));
  }
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
