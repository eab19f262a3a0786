// A message: the question of the user, or the answer with all that led to it.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { marked } from '../markdown/marks.ts';
import { copyText, type Content, type Speaking } from '../markdown/view.ts';
import '../markdown/view.ts';
import { type Answer, type Call, type Citation, type Message, type Part as Piece, type Question, type TextPart, type Thinking, asks, finalText, finalTexts, isEnd } from '../state/model.ts';
import { isTold, sentenceOf } from '../state/failures.ts';
import { type Word, en } from '../words/en.ts';
import { callCard, took, verdictOf } from './call.ts';
import { card } from './documents.ts';
import { icon, type Icon } from './icons.ts';
import { Part, define, isComposed } from './part.ts';
import { type Source, numbered, pageWords, sources } from './sources.ts';
import { title } from './title.ts';

type Group = { kind: 'said'; part: Exclude<Piece, Call | Thinking> } | { kind: 'done'; parts: (Call | Thinking)[] };

/** Reasoning and calls between two texts stand together. */
function groups(parts: readonly Piece[]): Group[] {
  const all: Group[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (asks(part)) {
      continue;
    }
    if (part.kind === 'text' || part.kind === 'document') {
      if (part.kind === 'document' || part.text.trim()) {
        all.push({ kind: 'said', part });
      }
    } else if (last?.kind === 'done') {
      last.parts.push(part);
    } else {
      all.push({ kind: 'done', parts: [part] });
    }
  }
  return all;
}

class MessageView extends Part {
  static override properties = {
    chat: { attribute: false },
    message: { attribute: false },
    isLast: { attribute: false },
    language: { attribute: false },
    versions: { attribute: false },
    asking: { attribute: false },
    unsaved: { attribute: false },
    isEditing: { state: true },
    isCopied: { state: true },
  };
  declare message: Message;
  declare isLast: boolean;
  declare versions: { all: string[]; at: number } | undefined;
  /** The words with which it could not be written anew. */
  declare unsaved: string | undefined;
  declare isEditing: boolean;
  declare isCopied: boolean;
  /** The sources of the answer by their numbers. */
  cited: Source[] = [];
  private speaking: Speaking | undefined;
  private spoken = '';
  /** The groups whose first call somebody had opened before it was one. */
  private readonly opened: boolean[] = [];
  private isSeen = false;
  private readonly seen = new IntersectionObserver((entries) => {
    this.isSeen = entries.at(-1)?.isIntersecting === true;
    this.complete();
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.seen.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.seen.disconnect();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('unsaved') && this.unsaved) {
      this.edit(this.unsaved);
      this.chat.unsaved.taken(this.message as Question);
    }
    this.complete();
  }

  /** Asks for the rest of an answer that somebody sees. */
  private complete(): void {
    if (this.isSeen) {
      void this.chat.complete(this.message.id);
    }
  }

  protected override render(): TemplateResult {
    return this.message.role === 'user' ? this.question(this.message) : this.answer(this.message);
  }

  // The question

  private question(question: Question): TemplateResult {
    return html`<article class="question ${this.isEditing ? 'editing' : ''}" part="question" aria-label=${this.say('you')}>
      ${question.documents.length > 0
        ? html`<div class="files">${question.documents.map((document) => card(document, this.chat))}</div>`
        : nothing}
      ${this.isEditing
        ? this.editor(question)
        : question.text
          ? html`<div class="bubble" part="bubble" dir="auto">${question.text}</div>`
          : nothing}
      ${this.isEditing || question.isAside ? nothing : html`<div class="actions">${this.versionButtons()}
        ${this.action('copy', 'copy', () => this.copy(question.text))}
        ${this.chat.config.features.fork === false ? nothing : this.action('edit', 'edit', () => this.edit())}</div>`}
    </article>`;
  }

  private versionButtons(): TemplateResult | typeof nothing {
    const { versions } = this;
    if (!versions || versions.all.length < 2) {
      return nothing;
    }
    const { all, at } = versions;
    const go = (word: Word, picture: Icon, detail: string | undefined) => html`<button type="button" class="icon-button small" ?disabled=${!detail}
      aria-label=${this.say(word)} @click=${() => this.dispatchEvent(new CustomEvent('open-session', { detail, bubbles: true }))}>${icon(picture)}</button>`;
    return html`<span class="versions">
      ${go('earlierVersion', 'left', all[at - 1])}
      <span class="small muted">${this.say('version', { n: at + 1, of: all.length })}</span>
      ${go('laterVersion', 'right', all[at + 1])}
    </span>`;
  }

  /** Lets the user write the message anew: with words that came to nothing, unless somebody writes it anew already. */
  edit(words?: string): void {
    if (this.isEditing && words !== undefined) {
      return;
    }
    this.isEditing = true;
    void this.updateComplete.then(() => {
      const area = this.querySelector('textarea');
      if (area) {
        area.value = words ?? area.value;
        const { activeElement } = this.getRootNode() as ShadowRoot;
        // Words that come back late take the focus from nobody who writes.
        if (words === undefined || !(activeElement as HTMLTextAreaElement | null)?.value) {
          area.focus();
          area.setSelectionRange(area.value.length, area.value.length);
        }
      }
    });
  }

  private editor(question: Question): TemplateResult {
    const save = () => {
      const words = this.querySelector('textarea')?.value.trim() ?? '';
      if (words) {
        this.isEditing = false;
        void this.chat.edit(question, words);
      }
    };
    const pressed = (event: KeyboardEvent) => {
      if (isComposed(event)) {
        return;
      }
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.isEditing = false;
      } else if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault();
        save();
      }
    };
    return html`<form class="editor" @submit=${(event: Event) => (event.preventDefault(), save())}>
      <textarea rows="3" dir="auto" aria-label=${this.say('editMessage')} .value=${question.text} @keydown=${pressed}></textarea>
      <div class="buttons">
        <button type="button" @click=${() => (this.isEditing = false)}>${this.say('cancel')}</button>
        <button type="submit" class="primary">${this.say('save')}</button>
      </div>
    </form>`;
  }

  // The answer

  private answer(answer: Answer): TemplateResult {
    const isRunning = answer.state === 'running';
    const all = groups(answer.parts);
    const waits = answer.parts.filter(asks);
    this.cited = sources(answer.citations);
    const isQuiet = isRunning && (all.length === 0 || isOver(all.at(-1)));
    return html`<article class="answer" part="answer" aria-label=${this.say('assistant')} aria-busy=${isRunning}>
      ${all.map((group, at) => {
        const isLive = isRunning && at === all.length - 1;
        return group.kind === 'done'
          ? this.activity(group.parts, isLive, answer, at)
          : group.part.kind === 'document'
            ? html`<div class="files">${card(group.part.document, this.chat, answer)}</div>`
            : html`<attache-markdown class="markdown" dir="auto" .content=${this.content(answer, group.part, isLive)}></attache-markdown>`;
      })}
      ${isQuiet ? html`<p class="working muted"><span class="dots"><i></i><i></i><i></i></span><span class="only-heard">${this.say('working')}</span></p>` : nothing}
      ${repeat(waits, (call) => call.approval?.id ?? call.id, (call) =>
        call.state === 'approval'
          ? html`<attache-approval .chat=${this.chat} .call=${call}></attache-approval>`
          : html`<attache-question .chat=${this.chat} .call=${call}></attache-question>`)}
      ${this.notes(answer)} ${this.end(answer)} ${isRunning ? nothing : this.footer(answer)}
    </article>`;
  }

  private content(answer: Answer, part: TextPart, isGrowing: boolean): Content {
    const { speech } = this.chat;
    if (!this.speaking || this.spoken !== speech.language) {
      this.spoken = speech.language;
      this.speaking = {
        copyCode: this.say('copyCode'),
        copied: this.say('copied'),
        blocked: (host) => this.say('imageBlocked', { host }),
        source: (number) => this.say('source', { n: number, name: this.cited[number - 1]?.name ?? '' }),
        unsupported: this.say('unsupported'),
        code: `${this.chat.address}/attache-code.js`,
        math: `${this.chat.address}/attache-math.js`,
      };
    }
    const { citations, unsupported } = answer;
    const texts = finalTexts(answer);
    // A text that grows has no marks: they would be looked for in all of it with each word.
    const text = isGrowing || citations.length + unsupported.length === 0
      ? undefined
      : marked(texts.map(({ text }) => text), citations, numbered(citations, this.cited), unsupported)[texts.indexOf(part)];
    return { text: text ?? part.text, isMarked: text !== undefined, isGrowing, speaking: this.speaking };
  }

  /** Reasoning and calls between two texts. */
  private activity(parts: readonly (Call | Thinking)[], isLive: boolean, answer: Answer, at: number): TemplateResult {
    const calls = parts.filter((part): part is Call => part.kind === 'call');
    const each = parts.map((part) => (part.kind === 'call' ? callCard(this.chat, part, answer) : this.thinking(part, isLive && part === parts.at(-1))));
    // One alone has no line above it. It keeps its element when another one joins it, and stays in sight if it was opened.
    const isGroup = parts.length > 1;
    const isOpened = isGroup && (this.opened[at] ??= this.querySelector(`[data-at="${at}"] .call[open]`) !== null);
    const now = isLive ? parts.at(-1) : undefined;
    const began = parts.find((part) => part.began !== undefined)?.began;
    const ended = parts.every((part) => part.ended !== undefined) ? Math.max(...parts.map((part) => part.ended as number)) : undefined;
    const bad = calls.filter((call) => call.state === 'failed').length;
    const waits = calls.some((call) => call.state === 'frontend');
    const words =
      now && (now.kind === 'thinking' || !isEnded(now))
        ? now.kind === 'thinking'
          ? this.say('thinking')
          : this.say('usingTool', { name: title(now.name) })
        : calls.length > 0
          ? calls.length > 1 && calls.every((call) => call.name === calls[0]?.name)
            ? this.say('times', { name: title(calls[0]?.name ?? ''), n: calls.length })
            : this.say('usedTools', { n: new Set(calls.map(({ name }) => name)).size })
          : this.say('thoughtShort');
    return html`<details class="activity ${isGroup ? 'group' : ''}" data-at=${at} ?open=${!isGroup || isOpened || bad > 0 || waits}>
      <summary ?hidden=${!isGroup}>${isGroup ? html`
        ${icon('right')}${isLive ? html`<span class="spinner"></span>` : nothing}<span class="call-name">${words}</span>
        ${bad > 0 ? html`<span class="state is-failed">${icon('fail')}<span>${this.say('stateFailed')}</span></span>` : nothing}
        <span class="muted small">${isLive || ended !== undefined ? took(this.chat, began, ended) : nothing}</span>` : nothing}
      </summary>
      <div class=${isGroup ? 'group-body' : ''}>${each}</div>
    </details>`;
  }

  private thinking(part: Thinking, isLive: boolean): TemplateResult {
    // Reasoning that a provider keeps to itself has a label only.
    if (!part.text) {
      return html`<p class="thinking muted small">${this.say('thoughtShort')}</p>`;
    }
    const isOpen = part.ended === undefined && isLive;
    const time = part.began !== undefined && part.ended !== undefined && part.ended - part.began >= 500 ? this.chat.speech.time(part.ended - part.began) : undefined;
    return html`<details class="thinking" part="thinking" ?open=${isOpen}>
      <summary>
        ${icon('right')}${isOpen
          ? html`<span class="shimmer">${this.say('thinking')}</span><span class="muted small">${took(this.chat, part.began, undefined)}</span>`
          : html`<span>${time ? this.say('thought', { time }) : this.say('thoughtShort')}</span>`}
      </summary>
      <div class="thinking-body" dir="auto">${part.text}</div>
    </details>`;
  }

  private notes(answer: Answer): unknown {
    return answer.notes.map((note) => {
      const words =
        note.kind === 'compacted'
          ? this.say('compacted')
          : note.kind === 'handed_off'
            ? this.say('handedOff', { name: note.text })
            : note.kind === 'left_out'
              ? this.say('leftOut', { n: Number(note.text) })
              : note.text;
      return html`<p class="note muted small">${icon('hand')}${words}</p>`;
    });
  }

  /** Words about the end, if it is not one like others. */
  private end(answer: Answer): unknown {
    const { reason = '' } = answer;
    const decided = answer.parts.filter((part): part is Call => part.kind === 'call' && part.decided !== undefined);
    const kept = answer.parts.length > 0 ? this.say('kept') : '';
    const asked = this.chat.questionOf(answer)?.text ?? '';
    const retry = asked ? this.say('retryWhat', { text: asked.length > 40 ? `${asked.slice(0, 40)}…` : asked }) : this.say('retry');
    const ask = () => this.chat.again(answer);
    const box = (kind: 'bad' | 'warn' | 'plain', picture: Icon, words: string, button?: unknown, details = '') => html`<div class="notice ${kind}" part="notice">
      ${icon(picture)}<p>${words}</p>${button && this.isLast ? button : nothing}
      ${details ? html`<details class="small"><summary>${icon('right')}${this.say('details')}</summary>${details}</details>` : nothing}
    </div>`;
    const decisions = decided.map((call) => html`<p class="note muted small">${icon(call.decided?.decision === 'deny' ? 'close' : 'check')}${title(call.name)}: ${verdictOf(this.chat, call)}</p>`);
    if (answer.state === 'failed') {
      const { code = '', message = '' } = answer.error ?? {};
      const words = [this.say('failed'), sentenceOf(code, message, this.chat.speech, reason)].filter(Boolean).join(': ');
      const until = answer.error?.retryAt ?? 0;
      const waits = until > performance.now();
      return [decisions, box('bad', 'fail', `${words} ${kept}`, html`<button type="button" ?disabled=${waits} @click=${ask}>${retry}</button>
        ${waits ? html`<attache-clock class="muted small" .speech=${this.chat.speech} .until=${until} @over=${() => this.requestUpdate()}></attache-clock>` : nothing}`, isTold(code) ? message : '')];
    }
    if (answer.state === 'interrupted') {
      return [decisions, box('warn', 'warn', `${this.say('interrupted')} ${kept}`, html`<button type="button" @click=${() => this.chat.resume()}>${this.say('resume')}</button>`)];
    }
    if (answer.state === 'stopped') {
      return [decisions, box('plain', 'stop', this.say('stopped'), html`<button type="button" @click=${ask}>${this.say('regenerate')}</button>`)];
    }
    if (reason === 'length') {
      return [decisions, box('warn', 'warn', this.say('endedLength'), html`<button type="button" @click=${() => this.chat.send(this.say('continuePrompt'), [])}>${this.say('continueAnswer')}</button>`)];
    }
    const why = `ended_${reason}` as Word;
    if (why in en) {
      return [decisions, box('warn', 'warn', this.say('endedLimit', { reason: this.say(why) }), html`<button type="button" @click=${ask}>${this.say('regenerate')}</button>`)];
    }
    return decisions;
  }

  private footer(answer: Answer): TemplateResult | typeof nothing {
    if (answer.parts.length === 0) {
      return nothing;
    }
    const { tokens, cost } = answer;
    const { speech, config } = this.chat;
    const counts = [
      tokens?.input ? this.say('tokensIn', { n: tokens.input }) : '',
      tokens?.output ? this.say('tokensOut', { n: tokens.output }) : '',
      cost ? speech.money(cost, config.currency) : '',
    ].filter(Boolean);
    // A box about the end offers the same.
    const isOffered = this.isLast && (answer.state === 'failed' || answer.state === 'stopped' || `ended_${answer.reason}` in en);
    const isDone = answer.state !== 'waiting' && !isOffered;
    return html`${this.sourcesLine()}
      ${answer.unsupported.length > 0
        ? html`<p class="note warn small">${icon('warn')}${this.say('unsupportedCount', { n: answer.unsupported.length })}</p>`
        : nothing}
      <div class="actions">
        ${this.action(this.isCopied ? 'copied' : 'copy', this.isCopied ? 'check' : 'copy', () => this.copy(finalText(answer)))}
        ${isDone && this.chat.config.features.fork !== false ? this.action('regenerate', 'again', () => this.chat.again(answer)) : nothing}
        ${answer.sights.length > 0
          ? html`<button type="button" class="quiet small" @click=${() => this.dispatchEvent(new CustomEvent('open-sight', { detail: answer, bubbles: true }))}>
              ${icon('eye')}${this.say('sight')}
            </button>`
          : nothing}
        ${counts.length > 0 ? html`<span class="counts muted small" title=${answer.model ?? ''}>${counts.join(' · ')}</span>` : nothing}
      </div>`;
  }

  private sourcesLine(): TemplateResult | typeof nothing {
    if (this.cited.length === 0) {
      return nothing;
    }
    const files = new Map<string, { source: Source; pages: Set<number>; citation: Citation }>();
    for (const source of this.cited) {
      const { citation } = source;
      const name = `${citation.source.kind} ${citation.source.id}`;
      const entry = files.get(name) ?? { source, pages: new Set<number>(), citation };
      citation.pages?.forEach((page) => entry.pages.add(page));
      files.set(name, entry);
    }
    return html`<div class="sources" part="sources">
      <span class="muted small">${this.say('sources')}</span>
      ${[...files.values()].map(({ source, pages, citation }) => {
        const { kind, id } = citation.source;
        const words = html`${source.name}${pages.size > 0 ? html`<span class="muted"> · ${pageWords(pages, (word, facts) => this.say(word, facts))}</span>` : nothing}`;
        return kind === 'url' && /^https?:\/\//.test(id)
          ? html`<a class="source small" href=${id} target="_blank" rel="noopener noreferrer nofollow">${words}</a>`
          : kind === 'document'
            ? html`<button type="button" class="source small" @click=${() => this.dispatchEvent(new CustomEvent('open-citation', { detail: citation, bubbles: true }))}>${icon('file')}<span>${words}</span></button>`
            : html`<span class="source small">${words}</span>`;
      })}
    </div>`;
  }

  private action(word: 'copy' | 'copied' | 'regenerate' | 'edit', picture: Icon, act: () => unknown): TemplateResult {
    const label = this.say(word);
    return html`<button type="button" class="icon-button small" aria-label=${label} title=${label} @click=${act}>${icon(picture)}</button>`;
  }

  private async copy(text: string): Promise<void> {
    await copyText(text);
    this.isCopied = true;
    setTimeout(() => (this.isCopied = false), 1500);
  }
}
define('attache-message', MessageView);

const isEnded = (part: Call | Thinking): boolean => (part.kind === 'thinking' ? part.ended !== undefined : isEnd(part.state));

const isOver = (group: Group | undefined): boolean => group?.kind === 'done' && group.parts.every(isEnded);

export type { MessageView };
