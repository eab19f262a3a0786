// The words beside a citation: the document, the place and the quote.
import type { Citation } from '../state/model.ts';
import type { Speech } from '../words/words.ts';
import { pageWords } from './sources.ts';

/** Shows beside a citation what it cites. */
export function hint(root: ParentNode, target: HTMLElement, citation: Citation, speech: Speech): void {
  const hint = root.querySelector<HTMLElement>('.hint');
  if (!hint) {
    return;
  }
  const shell = root.querySelector('.shell')?.getBoundingClientRect() ?? new DOMRect();
  const at = target.getBoundingClientRect();
  const { pages, cells, source } = citation;
  const place = pages ? ` · ${pageWords(new Set(pages), (word, facts) => speech.say(word, facts))}` : cells ? ` · ${cells.sheet} ${cells.range}` : '';
  const [name, quote] = [document.createElement('strong'), document.createElement('span')];
  name.textContent = `${source.name ?? source.id}${place}`;
  quote.textContent = citation.quote ?? '';
  hint.replaceChildren(name, quote);
  hint.hidden = false;
  const left = Math.max(8, Math.min(at.left - shell.left - 16, shell.width - hint.offsetWidth - 8));
  const above = at.top - shell.top - hint.offsetHeight - 6;
  hint.style.left = `${left}px`;
  hint.style.top = `${above > 8 ? above : at.bottom - shell.top + 6}px`;
}
