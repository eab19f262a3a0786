// The part of a text that stays on the page when another text takes its place.

/** The number of blocks that stay, and the place at which the text is read anew. `starts` are the places at which blocks begin. */
export function kept(starts: readonly number[], before: string, next: string): { at: number; settled: number } {
  let same = 0;
  while (same < next.length && next[same] === before[same]) {
    same += 1;
  }
  // The first signs of a block say whether it is one: the block before may go on there. The signs before the first one are
  // no block, and may differ, too.
  const at = Math.max(0, starts.findLastIndex((start) => start <= same) - 1);
  return { at, settled: at && (starts[at] as number) };
}
