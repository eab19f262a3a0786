// A text in Markdown on the page. Blocks that have ended are made once and kept: while a text grows, its last block alone
// is made anew.
import type { Token, Tokens } from 'marked';
import { type Links, blocks, clean, elements, isLink } from './clean.ts';
import { SIGNS, plain, unmarked } from './marks.ts';
import { repair } from './repair.ts';
import { kept } from './same.ts';

/** The things that a text says besides words. */
export interface Speaking {
  copyCode: string;
  copied: string;
  blocked: (host: string) => string;
  source: (number: number) => string;
  unsupported: string;
  /** The address of `attache-code.js`, and of `attache-math.js`. */
  code: string;
  math: string;
}

/** The text to show. */
export interface Content {
  /** With [marks](./marks.ts) if `isMarked`. */
  text: string;
  isMarked: boolean;
  /** True while it grows. */
  isGrowing: boolean;
  speaking: Speaking;
}

type Highlight = (language: string, code: string) => string | undefined;

/** The most code that is coloured. */
const MOST_COLOURED = 100_000;

let highlighting: Promise<Highlight> | undefined;

type Formula = (text: string, isBlock: boolean) => Element;

let formula: Formula | undefined;
let loading: Promise<void> | undefined;

/** No addresses. A label may have the name of what any object has. */
const none = (): Links => Object.create(null) as Links;

export class MarkdownView extends HTMLElement {
  private text = '';
  /** The place at which the last block begins. */
  private settled = 0;
  /** The places at which the blocks begin. */
  private starts: number[] = [];
  private last: HTMLElement | undefined;
  private lastRaw: string | undefined;
  /** The addresses that the text has named so far. */
  private links = none();
  private speaking: Speaking | undefined;

  connectedCallback(): void {
    this.addEventListener('click', this.clicked);
  }

  set content({ text, isMarked, isGrowing, speaking }: Content) {
    if (speaking !== this.speaking) {
      // Its buttons speak another language now.
      this.text = '';
      this.forget('');
    }
    this.speaking = speaking;
    const next = isMarked ? text : plain(text);
    if (next === this.text && this.last?.dataset.growing === String(isGrowing)) {
      return;
    }
    if (!next.startsWith(this.text)) {
      this.forget(next);
    }
    this.text = next;
    this.grow(isGrowing);
  }

  /** Takes the blocks away from the first one on that another text may change: what stands before it stays. */
  private forget(next: string): void {
    const { at, settled } = kept(this.starts, this.text, next);
    [...this.children].slice(at).forEach((block) => block.remove());
    [this.settled, this.last, this.lastRaw] = [settled, undefined, undefined];
    this.starts.length = at;
    this.links = none();
    this.name(blocks(next.slice(0, settled), this.links));
  }

  /** Takes addresses that stand apart, and makes the blocks anew that were waiting for one. */
  private name(tokens: Token[]): void {
    const labels: string[] = [];
    for (const token of tokens) {
      if (token.type === 'def' && !this.links[token.tag as string]) {
        this.links[token.tag as string] = token as Tokens.Def;
        labels.push(`[${token.tag as string}]`);
      }
    }
    labels.length > 0 &&
      [...this.children].forEach((block, at) => {
        const raw = this.text.slice(this.starts[at], this.starts[at + 1] ?? this.settled);
        const words = raw.replace(/\s+/g, ' ').toLowerCase();
        if (block !== this.last && labels.some((label) => words.includes(label))) {
          this.fill(block, elements(raw, this.links), false);
        }
      });
  }

  private fill(block: Element, made: DocumentFragment, isGrowing: boolean): void {
    this.dress(made, isGrowing);
    block.replaceChildren(made);
  }

  private grow(isGrowing: boolean): void {
    const tokens = blocks(this.text.slice(this.settled), this.links);
    let lastBlock = tokens.length - 1;
    while (lastBlock >= 0 && tokens[lastBlock]?.type === 'space') {
      lastBlock -= 1;
    }
    // An address that is being written is none yet.
    this.name(isGrowing ? tokens.slice(0, Math.max(lastBlock, 0)) : tokens);
    tokens.slice(0, Math.max(lastBlock, 0)).forEach(({ type, raw }) => {
      if (type !== 'space') {
        this.show(raw, false);
        [this.last, this.lastRaw] = [undefined, undefined];
      }
      this.settled += raw.length;
    });
    const tail = tokens[lastBlock];
    if (tail) {
      this.show(tail.raw, isGrowing);
    }
  }

  /** Shows a block in the place of the last one, if that has not ended. */
  private show(raw: string, isGrowing: boolean): void {
    if (raw === this.lastRaw && this.last?.dataset.growing === String(isGrowing)) {
      return;
    }
    const fence = isGrowing ? openFence(raw) : undefined;
    const before = this.last?.querySelector<HTMLElement>('pre[data-open] code');
    if (fence && before && this.lastRaw !== undefined && raw.startsWith(this.lastRaw)) {
      // Code that grows: what is there stays.
      const text = before.firstChild as Text | null;
      const known = text?.data ?? '';
      if (fence.code.startsWith(known)) {
        text ? text.appendData(fence.code.slice(known.length)) : before.append(fence.code);
        this.lastRaw = raw;
        return;
      }
    }
    this.last || this.starts.push(this.settled);
    const block = this.last ?? this.appendChild(document.createElement('div'));
    block.className = 'block';
    block.dataset.growing = String(isGrowing);
    this.fill(block, fence ? openCode(fence) : elements(isGrowing ? repair(raw) : raw, this.links), isGrowing);
    [this.last, this.lastRaw] = [block, raw];
  }

  /** Gives code its head, images their buttons, places their marks. */
  private dress(made: DocumentFragment, isGrowing: boolean): void {
    for (const pre of made.querySelectorAll('pre')) {
      this.dressCode(pre, isGrowing);
    }
    for (const table of made.querySelectorAll<HTMLElement>('[data-table]')) {
      table.className = 'table';
      table.tabIndex = 0;
      table.setAttribute('role', 'group');
    }
    for (const image of made.querySelectorAll<HTMLElement>('[data-image]')) {
      const address = image.dataset.image ?? '';
      if (isLink(address) && URL.canParse(address)) {
        const button = document.createElement('button');
        button.type = 'button';
        button.className = 'blocked';
        button.dataset.load = address;
        button.textContent = [image.textContent, this.speaking?.blocked(new URL(address).host)].filter(Boolean).join(' · ');
        image.replaceWith(button);
      }
    }
    mark(made, this.speaking);
    for (const place of made.querySelectorAll<HTMLElement>('[data-formula]')) {
      this.dressFormula(place);
    }
  }

  /** Shows a formula as one: at once if the file for it is there, else when it is. */
  private dressFormula(place: HTMLElement): void {
    const text = unmarked(place.textContent ?? '');
    const show = () => formula && place.replaceChildren(formula(text, place.dataset.formula === 'block'));
    if (!show() && this.speaking) {
      loading ??= import(this.speaking.math).then((module: { formula: Formula }) => void (formula = module.formula));
      // Without it the formula is read as it is written.
      loading.then(show).catch(() => (loading = undefined));
    }
  }

  private dressCode(pre: HTMLPreElement, isGrowing: boolean): void {
    const code = pre.querySelector('code');
    if (!code) {
      return;
    }
    const language = /language-(\S+)/.exec(code.className)?.[1]?.toLowerCase() ?? '';
    const frame = document.createElement('div');
    frame.className = 'code';
    const head = document.createElement('div');
    head.className = 'code-head';
    const name = document.createElement('span');
    name.textContent = language;
    const copy = document.createElement('button');
    copy.type = 'button';
    copy.className = 'copy-code';
    copy.textContent = this.speaking?.copyCode ?? '';
    head.append(name, copy);
    pre.tabIndex = 0;
    pre.replaceWith(frame);
    frame.append(head, pre);
    code.textContent = unmarked(code.textContent ?? '');
    const text = code.textContent;
    if (!isGrowing && language && text.length < MOST_COLOURED && this.speaking) {
      highlighting ??= import(this.speaking.code).then((module: { highlight: Highlight }) => module.highlight);
      // Without colours it is code all the same.
      highlighting
        .then((highlight) => {
          const html = highlight(language, text);
          if (html !== undefined) {
            code.replaceChildren(clean(html));
          }
        })
        .catch(() => (highlighting = undefined));
    }
  }

  private clicked = (event: MouseEvent): void => {
    const target = event.target as HTMLElement;
    const copy = target.closest<HTMLButtonElement>('.copy-code');
    if (copy) {
      const text = copy.closest('.code')?.querySelector('code')?.textContent ?? '';
      void copyText(text).then(() => {
        copy.textContent = this.speaking?.copied ?? '';
        setTimeout(() => (copy.textContent = this.speaking?.copyCode ?? ''), 1500);
      });
    }
    const load = target.closest<HTMLButtonElement>('[data-load]');
    if (load) {
      const image = document.createElement('img');
      image.referrerPolicy = 'no-referrer';
      image.alt = load.textContent ?? '';
      const address = load.dataset.load ?? '';
      // A policy of the page may forbid it: then it is a link.
      image.onerror = () => {
        const link = document.createElement('a');
        [link.href, link.target, link.rel] = [address, '_blank', 'noopener noreferrer nofollow'];
        link.textContent = address;
        image.replaceWith(link);
      };
      image.src = address;
      load.replaceWith(image);
    }
  };
}

/** Puts a text on the clipboard, also where the page has no leave to use the newer way. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    let before = document.activeElement;
    for (let inner = before; inner; inner = inner.shadowRoot?.activeElement ?? null) {
      before = inner;
    }
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    (before as HTMLElement | null)?.focus();
  }
}

/** A fence of code that has not ended. */
function openFence(raw: string): { language: string; code: string } | undefined {
  const begun = /^ {0,3}(`{3,}|~{3,})([^\n`]*)(?:\n|$)/.exec(raw);
  if (!begun) {
    return undefined;
  }
  const [head, fence, info] = begun as unknown as [string, string, string];
  const code = raw.slice(head.length);
  const closes = new RegExp(`(^|\\n) {0,3}${fence[0]}{${fence.length},}[ \\t]*\\n*$`);
  return closes.test(code) ? undefined : { language: info.trim().split(/\s/)[0] ?? '', code };
}

function openCode({ language, code }: { language: string; code: string }): DocumentFragment {
  const made = document.createDocumentFragment();
  const [pre, inner] = [document.createElement('pre'), document.createElement('code')];
  pre.dataset.open = '';
  if (language) {
    inner.className = `language-${language}`;
  }
  inner.textContent = code;
  pre.append(inner);
  made.append(pre);
  return made;
}

/** Makes elements of the signs for sources and figures. */
function mark(made: DocumentFragment, speaking: Speaking | undefined): void {
  const walker = document.createTreeWalker(made, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (/[\uE000-\uE003]/.test(text.data)) {
      found.push(text);
    }
  }
  for (const text of found) {
    const isLiteral = text.parentElement?.closest('code, button, [data-formula]') !== null && text.parentElement !== null;
    const parts = document.createDocumentFragment();
    let into: Node = parts;
    for (const piece of text.data.split(/(\uE000\d+\uE001|[\uE002\uE003])/)) {
      if (piece === SIGNS.from && !isLiteral) {
        const figure = document.createElement('span');
        figure.className = 'unsupported';
        figure.title = speaking?.unsupported ?? '';
        parts.append(figure);
        into = figure;
      } else if (piece === SIGNS.to || piece === SIGNS.from) {
        into = parts;
      } else if (piece.startsWith(SIGNS.open) && piece.endsWith(SIGNS.close)) {
        if (!isLiteral) {
          // A number stays on the line of the words that it is about.
          parts.append('\u2060', reference(Number(piece.slice(1, -1)), speaking));
        }
      } else if (piece) {
        into.appendChild(document.createTextNode(piece));
      }
    }
    for (const figure of parts.querySelectorAll('.unsupported')) {
      const words = document.createElement('span');
      words.className = 'only-heard';
      words.textContent = ` (${speaking?.unsupported ?? ''})`;
      figure.append(words);
    }
    text.replaceWith(parts);
  }
}

function reference(number: number, speaking: Speaking | undefined): HTMLElement {
  const sup = document.createElement('sup');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'cite';
  button.dataset.cite = String(number);
  button.textContent = String(number);
  button.setAttribute('aria-label', speaking?.source(number) ?? '');
  sup.append(button);
  return sup;
}

if (!customElements.get('attache-markdown')) {
  customElements.define('attache-markdown', MarkdownView);
}
