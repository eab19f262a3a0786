// The base of the chat's elements. They stand in the shadow of `<attache-chat>` and have none of their own, so that one
// style sheet and one set of parts is for all.
import { LitElement } from 'lit';
import type { Chat } from '../state/chat.ts';
import type { Citation, Doc } from '../state/model.ts';
import type { Word } from '../words/en.ts';

export abstract class Part extends LitElement {
  declare chat: Chat;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected say(word: Word, facts?: Record<string, string | number>): string {
    return this.chat.speech.say(word, facts);
  }
}

/** A document to open beside the conversation, at a passage. */
export interface Opening {
  document: Doc;
  citation?: Citation;
}

/** Asks the chat to show something beside the conversation. */
export function openDocument(from: EventTarget, opening: Opening): void {
  from.dispatchEvent(new CustomEvent('open-document', { detail: opening, bubbles: true }));
}

/** True for a key with which a word is put together by an input method: such a word ends with Enter, too. */
export const isComposed = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;

/** Names an element, unless another copy of the script has. */
export function define(name: string, element: CustomElementConstructor): void {
  if (!customElements.get(name)) {
    customElements.define(name, element);
  }
}
