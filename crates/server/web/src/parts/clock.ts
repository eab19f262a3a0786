// The time that something has taken so far.
import type { Speech } from '../words/words.ts';
import { define } from './part.ts';

class Clock extends HTMLElement {
  speech: Speech | undefined;
  /** The time of the page's clock at which it began. */
  since = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  connectedCallback(): void {
    this.show();
    this.timer = setInterval(() => this.show(), 1000);
  }

  disconnectedCallback(): void {
    clearInterval(this.timer);
  }

  private show(): void {
    const seconds = Math.floor((performance.now() - this.since) / 1000);
    this.textContent = seconds > 0 && this.speech ? this.speech.time(seconds * 1000) : '';
  }
}
define('attache-clock', Clock);
