// Files that are dropped anywhere on the chat.
import { html, nothing, type TemplateResult } from 'lit';
import type { ChatHost } from './chat-host.ts';
import { icon } from './icons.ts';

export class Drop {
  private isOver = false;

  constructor(private readonly host: ChatHost) {}

  over = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files')) {
      event.preventDefault();
      this.set(this.host.chat.config.features.uploads !== false);
    }
  };

  left = (event: DragEvent): void => {
    if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) {
      this.set(false);
    }
  };

  dropped = (event: DragEvent): void => {
    this.set(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) {
      event.preventDefault();
      this.host.composer?.add(files);
    }
  };

  render(): TemplateResult | typeof nothing {
    return this.isOver ? html`<div class="dropping">${icon('attach')}<p>${this.host.say('drop')}</p></div>` : nothing;
  }

  private set(isOver: boolean): void {
    if (isOver !== this.isOver) {
      this.isOver = isOver;
      this.host.requestUpdate();
    }
  }
}
