// Versions of a conversation. To say something else in the place of a message makes a session of its own, which shares
// what came before; this says which sessions are versions of each other.

/** The place at which a session left another one: the number of messages of the user that both have. */
export interface Origin {
  session: string;
  at: number;
}

export type Origins = Record<string, Origin>;

/** The session that had the message at that place first. */
function owner(origins: Origins, session: string, at: number): string {
  let current = session;
  const seen = new Set<string>();
  for (;;) {
    const origin = origins[current];
    if (!origin || origin.at < at || seen.has(current)) {
      return current;
    }
    seen.add(current);
    current = origin.session;
  }
}

/** The sessions that have another message at that place, with this one, in the order in which they were made. */
export function versions(origins: Origins, session: string, at: number): string[] {
  const first = owner(origins, session, at);
  const others = Object.keys(origins).filter(
    (each) => each !== first && origins[each]?.at === at && owner(origins, each, at) === first,
  );
  return [first, ...others];
}

/** The version at that place which `session` has, among `all`. */
export function current(origins: Origins, session: string, at: number, all: readonly string[]): number {
  let each: string | undefined = session;
  const seen = new Set<string>();
  while (each !== undefined && !seen.has(each)) {
    const found = all.indexOf(each);
    if (found >= 0 && (each === all[0] || origins[each]?.at === at)) {
      return found;
    }
    seen.add(each);
    each = origins[each]?.session;
  }
  return 0;
}

/** The session from which all versions of a conversation come. */
export function root(origins: Origins, session: string): string {
  return owner(origins, session, -1);
}
