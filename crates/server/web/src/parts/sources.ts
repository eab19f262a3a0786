// The sources of an answer, each with a number.
import type { Citation } from '../state/model.ts';
import type { Word } from '../words/en.ts';

export interface Source {
  name: string;
  citation: Citation;
}

const key = ({ source, pages, cells, quote }: Citation): string =>
  JSON.stringify([source.kind, source.id, pages, cells, quote]);

/** One for each passage, in the order in which the answer names them. */
export function sources(citations: readonly Citation[]): Source[] {
  const ordered = citations
    .filter((citation) => citation.source.kind !== 'message' && citation.source.id)
    .sort((a, b) => (a.inAnswer?.span.end ?? Infinity) - (b.inAnswer?.span.end ?? Infinity));
  const all = new Map<string, Source>();
  for (const citation of ordered) {
    if (!all.has(key(citation))) {
      all.set(key(citation), { name: citation.source.name ?? citation.source.id, citation });
    }
  }
  return [...all.values()];
}

/** The number of each citation; `undefined` for one that has none. */
export function numbered(citations: readonly Citation[], cited: readonly Source[]): number[] {
  const numbers = new Map(cited.map((source, at) => [key(source.citation), at + 1]));
  return citations.map((citation) => numbers.get(key(citation)) as number);
}

/** Pages as people write them: 1–3, 7. */
export function pageWords(pages: ReadonlySet<number>, say: (word: Word, facts: Record<string, string | number>) => string): string {
  const sorted = [...pages].sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const page of sorted) {
    const last = ranges.at(-1);
    if (last && page === last[1] + 1) {
      last[1] = page;
    } else {
      ranges.push([page, page]);
    }
  }
  return ranges
    .map(([from, to]) => (from === to ? say('page', { n: from }) : say('pages', { from, to })))
    .join(', ');
}
