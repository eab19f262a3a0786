// The session in the address of a page that is nothing but the chat, and the last one of any other page.
import type { Chat } from './chat.ts';

/** The session that an address names, behind its `#`; empty if none. */
export const routeOf = (hash: string): string => {
  const found = /^#\/s\/(.+)$/.exec(hash)?.[1];
  try {
    return found ? decodeURIComponent(found) : '';
  } catch {
    return '';
  }
};

/** The name under which a browser keeps the last session of this page. */
const last = (): string => `last.${location.pathname}`;

/** The session that a page begins with. */
export const firstSession = (chat: Chat, isPage: boolean): string => (isPage ? routeOf(location.hash) : (chat.mine.get<string>(last()) ?? ''));

/** Keeps the session that is shown: in the address of a page, so that it can be kept and shared. */
export function keepSession(chat: Chat, isPage: boolean): void {
  const { session } = chat;
  if (!isPage) {
    chat.mine.set(last(), session);
  } else if (routeOf(location.hash) !== session) {
    history.pushState(null, '', session ? `#/s/${encodeURIComponent(session)}` : location.pathname + location.search);
  }
}
