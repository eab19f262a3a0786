// The side of the conversation on which documents open: as images of their pages, as a table, as text, with the cited
// passage marked.
import { html, nothing, svg, type PropertyValues, type TemplateResult } from 'lit';
import { list, number, object, text } from '../api/read.ts';
import type { Answer } from '../state/model.ts';
import { divider } from './divider.ts';
import { OUTCOMES, nameOf } from './documents.ts';
import { fileIcon, icon } from './icons.ts';
import { type Opening, Part, define } from './part.ts';
import { sentence } from './note.ts';
import { type Page, type Standing, type Table, beginning, citedRows, decoded, findPassage, heading, rows, standing, worded } from './passage.ts';
import { pathOf } from './thumb.ts';

/** The most rows of a table, and characters of a text, that are shown. */
const MOST_ROWS = 500;
const MOST_TEXT = 400_000;
/** The most of a quote that is looked for on the image of a page. */
const MOST_QUOTE = 1500;

/** A reason that says no more than the badge beside it. */
export const SAID = /^shown as (converted )?text$/;

/** A part of the image of a page, as fractions of its sides. */
interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

type Preview =
  | { kind: 'image'; url: string }
  | { kind: 'sound'; url: string }
  | { kind: 'pages'; count: number; pages: Page[]; isWhole: boolean; notes: unknown[] }
  | { kind: 'text'; pages: Page[]; isWhole: boolean; unit: string; notes: unknown[] }
  | ({ kind: 'table' } & Table)
  | { kind: 'none'; words: string };

class Pane extends Part {
  static override properties = {
    chat: { attribute: false },
    opening: { attribute: false },
    sight: { attribute: false },
    language: { attribute: false },
    preview: { state: true },
    isText: { state: true },
    width: { state: true },
    areas: { state: true },
  };
  declare opening: Opening | undefined;
  declare sight: Answer | undefined;
  declare language: string;
  declare preview: Preview | undefined;
  declare isText: boolean;
  declare width: number;
  /** The places of the cited words on the images of pages, by page. */
  declare areas: ReadonlyMap<number, readonly Area[]>;
  private asked: AbortController | undefined;
  private urls: string[] = [];
  private shownPages: IntersectionObserver | undefined;

  constructor() {
    super();
    [this.width, this.areas] = [1, new Map()];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.forget();
  }

  private forget(): void {
    this.asked?.abort();
    this.shownPages?.disconnect();
    this.urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('opening')) {
      this.path = this.opening ? pathOf(this.opening.document, this.chat) : '';
      const before = changed.get('opening') as Opening | undefined;
      if (before?.document.id !== this.opening?.document.id) {
        this.forget();
        this.preview = undefined;
        if (this.opening) {
          void this.load(this.opening);
        }
      }
      [this.isText, this.areas] = [false, new Map()];
    }
    if (changed.has('opening') || changed.has('preview') || changed.has('language')) {
      this.places.clear();
    }
    if (changed.has('opening') || changed.has('preview')) {
      const { opening, preview } = this;
      this.standing = opening?.citation && preview && 'pages' in preview ? standing(opening.citation, preview.pages, preview.isWhole) : undefined;
      this.cited = preview?.kind === 'table' ? citedRows(preview, opening?.citation) : [];
      void this.loadAreas();
    }
  }
  /** The places of the cited words on pages of text that were shown. */
  private readonly places = new Map<Page, ReturnType<typeof findPassage>>();
  /** The rows of the table that are cited. */
  private cited: boolean[] = [];
  private standing: Standing | undefined;

  /** The first page to look at: the one that is cited, or has the words. */
  private get citedPage(): number {
    const place = this.standing;
    const isPlace = place?.kind === 'found' || (place?.kind === 'elsewhere' && !this.opening?.citation?.pages);
    return isPlace ? place.page.number : (this.opening?.citation?.pages?.[0] ?? 1);
  }

  protected override updated(changed: PropertyValues<this>): void {
    // A policy of the page may forbid styles in a template.
    this.querySelector<HTMLElement>('.pages')?.style.setProperty('--zoom', String(this.width));
    this.watchPages();
    if (changed.has('opening') || changed.has('preview') || changed.has('isText')) {
      this.findPlace();
    }
  }

  /** Scrolls to the cited passage. */
  private findPlace(): void {
    const hasImages = this.preview?.kind === 'pages' && !this.isText;
    const page = `[data-page="${this.citedPage}"]`;
    const target = (hasImages ? undefined : this.querySelector('mark')) ?? this.querySelector(page);
    target?.scrollIntoView({ block: hasImages ? 'start' : 'center' });
    this.isUnseen = hasImages;
  }

  /** True until the marks on the image of a page have been brought into sight. */
  private isUnseen = false;

  /** Scrolls to the marks of the image of a page, if they are below the edge once it is there. */
  private async showAreas(): Promise<void> {
    await this.updateComplete;
    const leaf = this.querySelector(`[data-page="${this.citedPage}"]`);
    const mark = leaf?.querySelector('.area');
    const body = this.querySelector('.pane-body');
    if (!this.isUnseen || !mark || !body || !leaf?.querySelector<HTMLImageElement>('img')?.naturalWidth) {
      return;
    }
    this.isUnseen = false;
    const [at, room] = [mark.getBoundingClientRect(), body.getBoundingClientRect()];
    if (at.bottom > room.bottom || at.top < room.top) {
      body.scrollTop += at.top - room.top - room.height / 3;
    }
  }

  /** Asks where the cited words stand on the pages that are cited. */
  private async loadAreas(): Promise<void> {
    const { opening, preview, standing } = this;
    const quote = opening?.citation?.quote;
    if (!quote || preview?.kind !== 'pages' || standing?.kind === 'missing' || standing?.kind === 'untold') {
      return;
    }
    const [first, last] = standing?.kind === 'found' ? (opening?.citation?.pages ?? []) : [];
    const from = standing && 'page' in standing ? standing.page.number : this.citedPage;
    const pages = first === undefined ? [from] : Array.from({ length: Math.min((last ?? first) - first, 3) + 1 }, (_, at) => first + at);
    for (const page of pages) {
      try {
        const path = `${this.path}/pages/${page}/passage?text=${encodeURIComponent(beginning(quote, MOST_QUOTE))}`;
        const told = object(await this.chat.client.ask('GET', path, undefined, this.asked?.signal));
        if (this.opening !== opening) {
          return;
        }
        const found = list(told.areas).map(object).map(({ left, top, width, height }): Area =>
          ({ left: number(left) ?? 0, top: number(top) ?? 0, width: number(width) ?? 0, height: number(height) ?? 0 }));
        this.areas = new Map(this.areas).set(page, found);
        void this.showAreas();
      } catch {
        // An older server knows no places: the words stand above the page.
        return;
      }
    }
  }

  /** The marks over the image of a page, which is paper in every theme. */
  private marks(page: number): TemplateResult | typeof nothing {
    const areas = this.areas.get(page) ?? [];
    return areas.length === 0
      ? nothing
      : html`<svg class="areas" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          ${areas.map(({ left, top, width, height }) => svg`<rect class="area" x=${left} y=${top} width=${width} height=${height}></rect>`)}
        </svg>`;
  }

  /** The address of the document in the session in which it was opened: another version may not have it. */
  private path = '';

  private async load({ document }: Opening): Promise<void> {
    const { signal } = (this.asked = new AbortController());
    const { features } = this.chat.config;
    const { mediaType } = document;
    try {
      if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType) || mediaType.startsWith('audio/')) {
        const url = this.url(await this.chat.client.bytes(this.path, signal));
        this.preview = { kind: mediaType.startsWith('audio/') ? 'sound' : 'image', url };
      } else if (/^text\/(csv|tab-separated-values)$/.test(mediaType)) {
        const whole = decoded(await (await this.chat.client.bytes(this.path, signal)).arrayBuffer());
        this.preview = { kind: 'table', text: whole, ...rows(whole, MOST_ROWS) };
      } else if (/^text\/(plain|markdown)$/.test(mediaType) && features.previews === false) {
        const whole = decoded(await (await this.chat.client.bytes(this.path, signal)).arrayBuffer());
        this.preview = { kind: 'text', pages: [{ number: 1, text: whole.slice(0, MOST_TEXT) }], isWhole: whole.length <= MOST_TEXT, unit: 'document', notes: [] };
      } else {
        const told = object(await this.chat.client.ask('GET', `${this.path}/text`, undefined, signal));
        const pages = list(told.pages).map((value) => {
          const from = object(value);
          return { number: number(from.number) ?? 1, name: text(from.name), isHidden: from.hidden === true, text: text(from.text).slice(0, MOST_TEXT) };
        });
        const notes = list(told.notes);
        const isWhole = told.truncated !== true && pages.every((page) => page.text.length < MOST_TEXT);
        this.preview =
          mediaType === 'application/pdf' && features.pageImages !== false
            ? { kind: 'pages', count: number(told.count) ?? pages.length, pages, isWhole, notes }
            : { kind: 'text', pages, isWhole, unit: text(told.unit), notes };
      }
    } catch (error) {
      if (!signal.aborted) {
        const words = error instanceof Error ? error.message : '';
        this.preview = { kind: 'none', words: words || this.say('previewFailed') };
      }
    }
  }

  private url(blob: Blob): string {
    const url = URL.createObjectURL(blob);
    this.urls.push(url);
    return url;
  }

  protected override render(): TemplateResult {
    const chat = (this.getRootNode() as ShadowRoot).host as HTMLElement;
    return html`${divider(this.chat, chat, () => this.requestUpdate())}
      <div class="pane-head" part="pane-head">
        ${this.opening ? icon(fileIcon(this.opening.document.mediaType)) : icon('eye')}
        <h2 title=${this.opening ? nameOf(this.opening.document, this.chat) : ''}>
          ${this.opening ? nameOf(this.opening.document, this.chat) : this.say('sight')}
        </h2>
        <span class="spread"></span>
        ${this.opening ? this.tools() : nothing}
        <button type="button" class="icon-button close-pane" aria-label=${this.say('close')} title=${this.say('close')}
          @click=${() => this.dispatchEvent(new CustomEvent('close-pane', { bubbles: true }))}>${icon('close')}</button>
      </div>
      <div class="pane-body" part="pane-body" tabindex="0" role="region" aria-label=${this.opening ? nameOf(this.opening.document, this.chat) : this.say('sight')}>
        ${this.opening ? this.documentView() : this.sight ? this.sightView(this.sight) : nothing}
      </div>`;
  }

  private tools(): TemplateResult {
    const hasBoth = this.preview?.kind === 'pages';
    const size = (by: number) => (this.width = Math.min(3, Math.max(0.5, this.width * by)));
    return html`${hasBoth
        ? html`<button type="button" class="quiet small" aria-pressed=${this.isText} @click=${() => (this.isText = !this.isText)}>${this.say(this.isText ? 'asPages' : 'asText')}</button>
            <button type="button" class="icon-button" aria-label=${this.say('zoomOut')} title=${this.say('zoomOut')} @click=${() => size(0.8)}>${icon('minus')}</button>
            <button type="button" class="icon-button" aria-label=${this.say('zoomIn')} title=${this.say('zoomIn')} @click=${() => size(1.25)}>${icon('plus')}</button>`
        : nothing}
      <button type="button" class="icon-button" aria-label=${this.say('download')} title=${this.say('download')} @click=${this.download}>${icon('download')}</button>`;
  }

  private download = async (): Promise<void> => {
    const { opening } = this;
    if (opening) {
      try {
        const link = globalThis.document.createElement('a');
        link.href = this.url(await this.chat.client.bytes(this.path));
        link.download = nameOf(opening.document, this.chat);
        link.click();
      } catch (error) {
        this.chat.fail(error);
      }
    }
  };

  private documentView(): TemplateResult | typeof nothing {
    const { preview } = this;
    if (!preview) {
      return html`<p class="muted centred"><span class="spinner"></span> ${this.say('loading')}</p>`;
    }
    switch (preview.kind) {
      case 'image':
        return html`<img class="picture" src=${preview.url} alt=${nameOf((this.opening as Opening).document, this.chat)}>`;
      case 'sound':
        return html`<audio controls src=${preview.url}></audio>`;
      case 'table':
        return this.tableView(preview);
      case 'text':
        return html`${this.standing?.kind === 'found' ? nothing : this.passage()}${this.notesView(preview.notes)}${this.textView(preview.pages, preview.unit)}`;
      case 'pages':
        return this.isText
          ? html`${this.notesView(preview.notes)}${this.textView(preview.pages, 'page')}`
          : this.pagesView(preview);
      case 'none':
        return html`<div class="centred muted"><p>${this.say('noPreview')}</p><p class="small">${preview.words}</p>
          <button type="button" @click=${this.download}>${icon('download')}${this.say('download')}</button></div>`;
    }
  }

  private notesView(notes: unknown[]): unknown {
    return notes.map((note) => html`<p class="note muted small">${icon('hand')}${sentence(note, this.chat.speech)}</p>`);
  }

  /** The cited words among those around them, or by themselves where they do not stand. */
  private passage(place = this.standing): TemplateResult | typeof nothing {
    const citation = this.opening?.citation;
    const quote = citation?.quote;
    if (!quote || !place) {
      return nothing;
    }
    const isFound = place.kind === 'found';
    const page = isFound && citation.pages ? place.page.number : citation.pages?.[0];
    const words = isFound ? place.page.text : quote;
    const { start, end } = isFound ? place : { start: 0, end: quote.length };
    const around = 160;
    const other = place.kind === 'elsewhere' && this.preview?.kind === 'pages' ? place.page.number : undefined;
    const go = () => this.querySelector(`[data-page="${other}"]`)?.scrollIntoView({ block: 'start' });
    return html`<blockquote class="passage ${isFound ? '' : 'unfound'}" part="passage">
      <p class="muted small">
        ${this.say('passage')}${page === undefined ? nothing : html` · ${this.say('page', { n: page })}`}
        ${citation.cells ? html` · ${citation.cells.sheet} ${citation.cells.range}` : nothing}
      </p>
      <p class="passage-text">${isFound
        ? html`${start > around ? '…' : ''}${words.slice(Math.max(0, start - around), start)}<mark>${words.slice(start, end)}</mark>${words.slice(end, end + around)}${words.length > end + around ? '…' : ''}`
        : html`<q>${quote}</q>`}</p>
      ${isFound
        ? nothing
        : html`<p class="note ${place.kind === 'untold' ? 'muted' : 'warn'} small">${icon(place.kind === 'untold' ? 'hand' : 'warn')}<span>${this.say(place.kind === 'untold' ? 'uncompared' : 'unfound')}
            ${other === undefined ? nothing : html`<button type="button" class="link" @click=${go}>${this.say('page', { n: other })}</button>`}</span></p>`}
      ${citation.isFaithful ? nothing : html`<p class="note warn small">${icon('warn')}${this.say('altered')}</p>`}
    </blockquote>`;
  }

  private pagesView(preview: Preview & { kind: 'pages' }): TemplateResult {
    const cited = this.opening?.citation ? this.citedPage : 0;
    return html`${this.notesView(preview.notes)}${cited > preview.count ? this.passage() : nothing}
      <div class="pages">
        ${Array.from({ length: preview.count }, (_, at) => at + 1).map((page) => {
          const label = this.say('pageOf', { n: page, of: preview.count });
          return html`<figure class="leaf" data-page=${page}>
            ${page === cited ? this.passage() : nothing}
            <div class="paper"><img alt=${label} data-src=${`${this.path}/pages/${page}?width=${this.pixels}`}>${this.marks(page)}</div>
            <figcaption class="muted small">${label}</figcaption>
          </figure>`;
        })}
      </div>`;
  }

  private get pixels(): number {
    const wanted = Math.max(400, this.clientWidth) * Math.min(devicePixelRatio || 1, 2) * Math.max(1, this.width);
    return Math.min(2000, Math.ceil(wanted / 200) * 200);
  }

  /** Loads the images of pages that are near, once more where they are to be larger. */
  private watchPages(): void {
    this.shownPages?.disconnect();
    this.shownPages = new IntersectionObserver(
      (entries) => entries.forEach((entry) => entry.isIntersecting && void this.loadPage(entry.target as HTMLImageElement)),
      { root: null, rootMargin: '800px' },
    );
    this.querySelectorAll('[data-src]').forEach((image) => this.shownPages?.observe(image));
  }

  private async loadPage(image: HTMLImageElement): Promise<void> {
    const source = image.dataset.src ?? '';
    if (!source || image.dataset.loaded === source) {
      return;
    }
    image.dataset.loaded = source;
    try {
      const bytes = await this.chat.client.bytes(source, this.asked?.signal);
      // Another size was asked for meanwhile.
      if (image.dataset.loaded !== source) {
        return;
      }
      URL.revokeObjectURL(image.src);
      this.urls = this.urls.filter((url) => url !== image.src);
      image.src = this.url(bytes);
      await image.decode();
      await this.showAreas();
    } catch {
      if (image.dataset.loaded === source) {
        image.dataset.loaded = '';
      }
    }
  }

  private tableView({ rows: [head = [], ...body], isWhole }: Preview & { kind: 'table' }): TemplateResult {
    const citation = this.opening?.citation;
    const isCited = this.cited.slice(1);
    const cells = (row: string[], at: number) => row.map((cell) => html`<td dir="auto">${isCited[at] ? html`<mark>${cell}</mark>` : cell}</td>`);
    return html`${citation?.quote && !isCited.includes(true) ? this.passage({ kind: 'found', page: { number: 1, text: citation.quote }, start: 0, end: citation.quote.length }) : nothing}
      <div class="table sheet" tabindex="0" role="group">
        <table>
          <thead><tr><th class="muted">1</th>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
          <tbody>${body.map((row, at) => html`<tr><th scope="row" class="muted">${at + 2}</th>${cells(row, at)}</tr>`)}</tbody>
        </table>
      </div>
      <p class="muted small">${this.say('rows', { n: body.length })}${isWhole ? '' : ' …'}</p>`;
  }

  private textView(pages: readonly Page[], unit: string): unknown {
    const citation = this.opening?.citation;
    const [first, last] = citation?.pages ?? [];
    return pages.map((page) => {
      const isCited = first === undefined || (page.number >= first && page.number <= (last ?? first));
      const text = worded(page.text, unit, this.chat.speech);
      if (isCited && citation?.quote && !this.places.has(page)) {
        this.places.set(page, findPassage(text, citation.quote));
      }
      const place = this.places.get(page);
      return html`<section class="text-page" data-page=${page.number}>
        ${pages.length > 1 || page.name ? html`<h3 class="muted small">${heading(page, unit, this.chat.speech)}</h3>` : nothing}
        <div class="plain" dir="auto">${place
          ? html`${text.slice(0, place.start)}<mark>${text.slice(place.start, place.end)}</mark>${text.slice(place.end)}`
          : text}</div>
      </section>`;
    });
  }

  /** The routing report: what became of each document for the model. */
  private sightView(answer: Answer): TemplateResult {
    const { speech } = this.chat;
    if (answer.sights.length === 0) {
      return html`<p class="muted">${this.say('sightNone')}</p>`;
    }
    return html`${answer.sights.map(
      (sight) => html`<section class="sight">
        <h3>${this.say('step', { n: sight.step + 1 })} <span class="muted small">≈ ${this.say('tokens', { n: sight.tokens })}</span></h3>
        <ul>
          ${sight.decisions.map(
            (decision) => html`<li>
              ${icon(fileIcon(decision.mediaType))}
              <div>
                <p><strong>${decision.fileName ?? this.say('document')}</strong>
                  <span class="badge ${decision.outcome}">${this.say(OUTCOMES[decision.outcome] ?? 'outcomeNote')}</span></p>
                ${SAID.test(decision.reason) ? nothing : html`<p class="muted small">${decision.reason}</p>`}
                ${decision.bytes + decision.tokens === 0 ? nothing : html`<p class="muted small">${[
                  decision.mediaType,
                  decision.bytes > 0 ? speech.size(decision.bytes) : '',
                  decision.tokens > 0 ? `≈ ${this.say('tokens', { n: decision.tokens })}` : '',
                ].filter(Boolean).join(' · ')}</p>`}
              </div>
            </li>`,
          )}
        </ul>
      </section>`,
    )}`;
  }
}
define('attache-pane', Pane);
