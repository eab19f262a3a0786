// The words beside a citation: the document, the place and the quote. They stay while the pointer is on them, and go with
// Escape (WCAG 1.4.13).
import type { Citation } from '../state/model.ts';
import type { Speech } from '../words/words.ts';
import { pageWords } from './sources.ts';

/** The time in which the pointer comes from the citation to its words. */
const WAY = 250;
const ID = 'attache-hint';

let hiding: ReturnType<typeof setTimeout> | undefined;
/** Takes the words away. */
let hide = (): void => {};

/** Heeds where the pointer or the focus went in a chat: on a citation, away from it, or somewhere else. */
export function hint(shell: Element, isOn: boolean, target: Element, citation: Citation | undefined, speech: Speech): void {
  clearTimeout(hiding);
  if (isOn && citation) {
    show(shell, target.closest<HTMLElement>('[data-cite]') ?? target, citation, speech);
  } else if (!isOn || !target.closest('.hint')) {
    hiding = setTimeout(() => hide(), WAY);
  }
}

function show(shell: Element, target: Element, citation: Citation, speech: Speech): void {
  hide();
  const { pages, cells, source } = citation;
  const place = pages ? ` · ${pageWords(new Set(pages), (word, facts) => speech.say(word, facts))}` : cells ? ` · ${cells.sheet} ${cells.range}` : '';
  const [hint, name, quote] = [document.createElement('div'), document.createElement('strong'), document.createElement('span')];
  [hint.className, hint.id] = ['hint', ID];
  hint.setAttribute('role', 'tooltip');
  name.textContent = `${source.name ?? source.id}${place}`;
  quote.textContent = citation.quote ?? '';
  hint.append(name, quote);
  shell.append(hint);
  target.setAttribute('aria-describedby', ID);
  const [room, at] = [shell.getBoundingClientRect(), target.getBoundingClientRect()];
  const left = Math.max(8, Math.min(at.left - room.left - 16, room.width - hint.offsetWidth - 8));
  const above = at.top - room.top - hint.offsetHeight - 6;
  hint.style.left = `${left}px`;
  hint.style.top = `${above > 8 ? above : at.bottom - room.top + 6}px`;
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      // It stops no answer.
      event.stopPropagation();
      hide();
    }
  };
  // A click may open something beside the answer: the next Escape is for that.
  const clicked = (event: MouseEvent) => event.composedPath().includes(hint) || hide();
  addEventListener('keydown', pressed, true);
  addEventListener('click', clicked, true);
  hide = () => {
    removeEventListener('keydown', pressed, true);
    removeEventListener('click', clicked, true);
    target.removeAttribute('aria-describedby');
    hint.remove();
    hide = () => {};
  };
}
