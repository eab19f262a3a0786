// Pictures of buttons, as lines on a grid of 24; some come with the parts that show them.
import { svg, type TemplateResult } from 'lit';
import type { pictures } from './later-icons.ts';

export const PATHS = {
  send: 'M12 19V5M5.5 11.5 12 5l6.5 6.5',
  stop: 'M7 7h10v10H7z',
  attach: 'm20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.8-7.7',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  chats: 'M4 6h16M4 12h16M4 18h10',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  again: 'M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7',
  edit: 'm4 20 1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19z',
  down: 'm6 9 6 6 6-6',
  right: 'm9 6 6 6-6 6',
  left: 'm15 6-6 6 6 6',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM15 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z',
  file: 'M6 3h8l4 4v14H6zM14 3v5h4',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14',
  mail: 'M3 6h18v12H3zM3 7l9 7 9-7',
  sound: 'M9 18V5l10-2v13M9 18a3 3 0 1 1-6 0 3 3 0 0 1 6 0ZM19 16a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z',
  tool: 'M14.5 6.5a4 4 0 0 0-5.4 4.9L4 16.5 7.5 20l5.1-5.1a4 4 0 0 0 4.9-5.4L15 12l-3-3z',
  warn: 'M12 4 2.5 20h19zM12 10v4M12 17h.01',
  fail: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9 9l6 6M15 9l-6 6',
  hand: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7.5v5M12 16h.01',
  ask: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.5 9.5a2.5 2.5 0 1 1 3.6 2.3c-.7.3-1.1.9-1.1 1.7M12 16.5h.01',
  settings: 'M4 7h9M17 7h3M15 9V5M4 17h3M11 17h9M9 19v-4',
  offline: 'M3 3l18 18M8.5 16.5a5 5 0 0 1 5-1.3M5 12.5a10 10 0 0 1 4-2.4M2 8.8A15 15 0 0 1 6 6.4M12 6a15 15 0 0 1 10 3M12 20h.01',
  chat: 'M4 5h16v11H9.5L5 20v-4H4z',
  page: 'M4 5h16v14H4zM4 9h16',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2',
} as const;

export type Icon = keyof typeof PATHS | keyof typeof pictures;

/** A picture beside or in place of a word. A reader who does not see it hears the word alone. */
export const icon = (name: Icon): TemplateResult =>
  svg`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name as keyof typeof PATHS]}></path></svg>`;

/** The picture for a kind of file. */
export function fileIcon(mediaType: string): Icon {
  if (mediaType.startsWith('image/')) {
    return 'image';
  }
  if (mediaType.startsWith('audio/')) {
    return 'sound';
  }
  if (mediaType === 'message/rfc822' || mediaType.includes('outlook')) {
    return 'mail';
  }
  return /csv|spreadsheet|excel|tab-separated/.test(mediaType) ? 'table' : 'file';
}
