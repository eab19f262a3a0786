// The line between conversation and documents, which is moved by pointer and keys. The width that it gives is kept.
import { html, type TemplateResult } from 'lit';
import type { Chat } from '../state/chat.ts';
import { paneWidth } from './documents.ts';

const [LEAST, MOST] = [380, 1200];
/** The room that the conversation keeps beside the documents. */
const BESIDE = 420;
/** The pixels that a key moves it by. */
const STEP = 24;

/** The line. `over` is the chat that is parted, `changed` is told of each new width. */
export function divider(chat: Chat, over: HTMLElement, changed: () => void): TemplateResult {
  const sign = chat.speech.isRightToLeft ? -1 : 1;
  const set = (width: number) => {
    const room = (over.shadowRoot?.querySelector('.shell')?.clientWidth ?? MOST) - BESIDE;
    const bounded = Math.round(Math.max(LEAST, Math.min(width, room)));
    chat.kept.set('pane', bounded);
    over.style.setProperty('--attache-pane', `${bounded}px`);
    changed();
  };
  const moved = (event: PointerEvent) => {
    if (event.button !== 0) {
      return;
    }
    const line = event.currentTarget as HTMLElement;
    line.setPointerCapture(event.pointerId);
    const [from, width] = [event.clientX, paneWidth(chat)];
    const move = (moved: PointerEvent) => set(width + sign * (from - moved.clientX));
    const end = () => {
      line.removeEventListener('pointermove', move);
      line.removeEventListener('lostpointercapture', end);
    };
    line.addEventListener('pointermove', move);
    // It comes behind the end, and where the browser takes the pointer away.
    line.addEventListener('lostpointercapture', end);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      event.preventDefault();
      set(paneWidth(chat) + sign * (event.key === 'ArrowLeft' ? STEP : -STEP));
    }
  };
  return html`<div class="divider" role="separator" aria-orientation="vertical" tabindex="0" aria-label=${chat.speech.say('resize')}
    aria-valuenow=${paneWidth(chat)} aria-valuemin=${LEAST} aria-valuemax=${MOST} @pointerdown=${moved} @keydown=${pressed}></div>`;
}
