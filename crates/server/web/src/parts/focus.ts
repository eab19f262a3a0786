// Keeps the focus in the chat: an element that had it and is gone, or cannot have it any more, leaves it to the box in
// which the user writes. Without this whoever uses the keyboard would begin again at the top of the page.
import type { ReactiveController } from 'lit';
import type { ChatHost } from './chat-host.ts';

export class Focus implements ReactiveController {
  /** The element that has the focus, or had it when it went. */
  private held: HTMLElement | undefined;
  private readonly gone = new MutationObserver(() => this.held?.isConnected === false && this.look());

  constructor(private readonly host: ChatHost) {
    host.addController(this);
  }

  hostConnected(): void {
    const { renderRoot } = this.host;
    renderRoot.addEventListener('focusin', this.came);
    renderRoot.addEventListener('focusout', this.look);
    this.gone.observe(renderRoot, { childList: true, subtree: true });
  }

  hostDisconnected(): void {
    this.gone.disconnect();
    this.held = undefined;
  }

  private came = (event: Event): void => {
    this.held = event.target as HTMLElement;
  };

  /** Looks a moment later, when the focus is where somebody has put it. */
  private look = (): void => {
    setTimeout(() => {
      const { held } = this;
      if (held && this.host.isConnected && (document.activeElement ?? document.body) === document.body) {
        this.held = undefined;
        // An element that could have it was left.
        const isLeft = held.isConnected && held.getClientRects().length > 0 && !held.matches(':disabled');
        isLeft || this.host.composer?.focus();
      } else if (!this.host.matches(':focus-within')) {
        // Somebody went to another place of the page.
        this.held = undefined;
      }
    });
  };
}
