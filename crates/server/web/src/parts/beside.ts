// The place beside the conversation: a document, which a citation opens at its passage, or what a model saw.
import { html, nothing, type ReactiveController, type TemplateResult } from 'lit';
import type { Answer, Citation } from '../state/model.ts';
import type { ChatHost } from './chat-host.ts';
import { citedDocument, paneWidth } from './documents.ts';
import type { MessageView } from './message.ts';
import type { Opening } from './part.ts';

export class Beside implements ReactiveController {
  private opening: Opening | undefined;
  private sight: Answer | undefined;
  /** The session in which it was opened. */
  private session = '';
  /** The element that has the focus again when the place is closed. */
  private returnTo: HTMLElement | undefined;
  /** True while the focus goes back to where it came from. */
  private isReturning = false;

  constructor(private readonly host: ChatHost) {
    host.addController(this);
  }

  hostConnected(): void {
    this.host.style.setProperty('--attache-pane', `${paneWidth(this.host.chat)}px`);
  }

  hostUpdate(): void {
    // The session is gone, and its documents with it.
    if (this.session && !this.host.chat.session) {
      this.clear();
    }
  }

  get isOpen(): boolean {
    return this.opening !== undefined || this.sight !== undefined;
  }

  /** Shows nothing any more, and leaves the focus where it is. */
  clear(): void {
    this.show(undefined, undefined);
  }

  close = (): void => {
    this.clear();
    // Its words are no news: the next Escape is for the chat.
    this.isReturning = true;
    this.returnTo?.isConnected ? this.returnTo.focus() : this.host.composer?.focus();
    this.isReturning = false;
  };

  openDocument = (event: CustomEvent<Opening>): void => this.enter(event.detail, undefined);

  openSight = (event: CustomEvent<Answer>): void => this.enter(undefined, event.detail);

  openCitation = (event: CustomEvent<Citation>): void => this.cite(event.detail);

  clicked = (event: MouseEvent): void => {
    const citation = this.citationOf(event.target);
    if (citation) {
      this.cite(citation);
    }
  };

  hinted = ({ type, target, currentTarget }: Event): void => {
    const citation = this.citationOf(target);
    const shell = currentTarget as Element;
    if (!this.isReturning && (citation || shell.querySelector('.hint'))) {
      void this.host.more().then(({ hint }) => hint(shell, !type.endsWith('out'), target as Element, citation, this.host.chat.speech), () => undefined);
    }
  };

  render(): TemplateResult | typeof nothing {
    const { host, opening, sight } = this;
    return this.isOpen
      ? html`<aside class="pane" part="pane" aria-label=${host.say(opening ? 'document' : 'sight')}>
          <attache-pane .chat=${host.chat} .opening=${opening} .sight=${sight} .language=${host.spoken}></attache-pane>
        </aside>`
      : nothing;
  }

  private show(opening: Opening | undefined, sight: Answer | undefined): void {
    [this.opening, this.sight, this.session] = [opening, sight, this.host.chat.session];
    this.host.requestUpdate();
  }

  private enter(opening: Opening | undefined, sight: Answer | undefined): void {
    this.returnTo = (this.host.shadowRoot?.activeElement as HTMLElement | null) ?? undefined;
    this.show(opening, sight);
    void this.host.updateComplete.then(() => this.host.renderRoot.querySelector<HTMLElement>('.close-pane')?.focus());
  }

  private cite(citation: Citation): void {
    const { source } = citation;
    if (source.kind === 'url' && /^https?:\/\//i.test(source.id)) {
      window.open(source.id, '_blank', 'noopener,noreferrer');
    } else if (source.kind === 'document') {
      this.enter({ document: citedDocument(this.host.chat.messages, citation), citation }, undefined);
    }
  }

  private citationOf(target: EventTarget | null): Citation | undefined {
    const button = (target as HTMLElement | null)?.closest?.<HTMLElement>('[data-cite]');
    const message = button?.closest<MessageView>('attache-message');
    return message?.cited[Number(button?.dataset.cite) - 1]?.citation;
  }
}
