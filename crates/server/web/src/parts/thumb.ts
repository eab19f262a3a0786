// A small picture of a document: the image that it is, or its first page with the number of its pages.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { number, object } from '../api/read.ts';
import type { Chat } from '../state/chat.ts';
import type { Doc } from '../state/model.ts';
import { Part, define } from './part.ts';

/** The largest image that is loaded for a small picture, in bytes. */
const MOST = 4_000_000;

/** The address of a document, in the session or among the uploads. */
export function pathOf(document: Doc, { session }: Chat): string {
  const id = encodeURIComponent(document.id);
  return session && !document.isUpload ? `/v1/sessions/${encodeURIComponent(session)}/documents/${id}` : `/v1/documents/${id}`;
}

class Thumb extends Part {
  static override properties = { chat: { attribute: false }, document: { attribute: false }, language: { attribute: false }, url: { state: true }, pages: { state: true } };
  declare document: Doc;
  declare url: string;
  declare pages: number | undefined;
  private seen: IntersectionObserver | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void this.load());
    this.look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.seen?.disconnect();
    this.forget();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get('document');
    if (before && before.id !== this.document.id) {
      this.forget();
      // An observer is told at once of a card that it begins with.
      this.look();
    }
  }

  /** Waits until the card is seen: this element has no box of its own. */
  private look(): void {
    if (this.parentElement) {
      this.seen?.unobserve(this.parentElement);
      this.seen?.observe(this.parentElement);
    }
  }

  private forget(): void {
    URL.revokeObjectURL(this.url);
    [this.url, this.pages] = ['', undefined];
  }

  private async load(): Promise<void> {
    this.seen?.disconnect();
    const { chat, document } = this;
    const isPdf = document.mediaType === 'application/pdf';
    if (isPdf ? chat.config.features.pageImages === false : (document.size ?? MOST) >= MOST) {
      return;
    }
    try {
      const bytes = await chat.client.bytes(pathOf(document, chat) + (isPdf ? '/pages/1?width=160' : ''));
      if (this.isConnected && document === this.document) {
        this.url = URL.createObjectURL(bytes);
      }
      if (isPdf) {
        const told = object(await chat.client.ask('GET', `${pathOf(document, chat)}/text?page=1`));
        this.pages = document === this.document ? number(told.count) : this.pages;
      }
    } catch {
      // The icon says what it is.
    }
  }

  protected override render(): TemplateResult {
    return html`${this.url ? html`<img src=${this.url} alt="">` : nothing}${this.pages ? html`<span class="muted small">${this.say('pageCount', { n: this.pages })}</span>` : nothing}`;
  }
}
define('attache-thumb', Thumb);
