// A small picture of a document: the image that it is, or its first page.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
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
  static override properties = { chat: { attribute: false }, document: { attribute: false }, url: { state: true } };
  declare document: Doc;
  declare url: string;
  private seen: IntersectionObserver | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void this.load());
    this.seen.observe(this);
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
      // Whoever observes anew is told at once.
      this.seen?.unobserve(this);
      this.seen?.observe(this);
    }
  }

  private forget(): void {
    URL.revokeObjectURL(this.url);
    this.url = '';
  }

  private async load(): Promise<void> {
    this.seen?.unobserve(this);
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
    } catch {
      // The icon says what it is.
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    return this.url ? html`<img src=${this.url} alt="">` : nothing;
  }
}
define('attache-thumb', Thumb);
