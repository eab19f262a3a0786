// The element around the conversation, as its parts know it.
import type { ReactiveControllerHost } from 'lit';
import type { Chat } from '../state/chat.ts';
import type { Word } from '../words/en.ts';
import type { Composer } from './composer.ts';

export interface ChatHost extends ReactiveControllerHost, HTMLElement {
  readonly chat: Chat;
  readonly composer: Composer | null;
  readonly renderRoot: HTMLElement | DocumentFragment;
  /** Words before the first question. */
  readonly greeting: string;
  /** The language of the words. */
  readonly spoken: string;
  readonly isFloating: boolean;
  readonly isOpen: boolean;
  /** True if the list of conversations is shown. */
  hasList: boolean;
  say(word: Word, facts?: Record<string, string | number>): string;
  open(): void;
  close(): void;
  newSession(): void;
  openSession(id: string): void;
  settings(): Promise<void>;
  toggleList(): void;
  /** Loads what is not seen at first. */
  more(): Promise<typeof import('../more.ts')>;
}
