// The time that something has taken so far, or the time until something.
import type { Speech } from '../words/words.ts';
import { define } from './part.ts';

class Clock extends HTMLElement {
  speech: Speech | undefined;
  /** The time of the page's clock at which it began. */
  since = 0;
  /** The time of the page's clock that is waited for, in place of `since`. */
  until: number | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  connectedCallback(): void {
    this.show();
    this.timer = setInterval(() => this.show(), 1000);
  }

  disconnectedCallback(): void {
    clearInterval(this.timer);
  }

  private show(): void {
    const now = performance.now();
    const seconds = this.until === undefined ? Math.floor((now - this.since) / 1000) : Math.ceil((this.until - now) / 1000);
    if (this.until !== undefined && seconds <= 0) {
      clearInterval(this.timer);
      this.dispatchEvent(new Event('over', { bubbles: true }));
    }
    const time = seconds > 0 && this.speech ? this.speech.time(seconds * 1000) : '';
    this.textContent = time && this.until !== undefined ? (this.speech?.say('retryIn', { time }) ?? '') : time;
  }
}
define('attache-clock', Clock);
