/** The session that an address names, behind its `#`; empty if none. */
export const routeOf = (hash: string): string => {
  const found = /^#\/s\/(.+)$/.exec(hash)?.[1];
  try {
    return found ? decodeURIComponent(found) : '';
  } catch {
    return '';
  }
};
