// The names of tools.

/** The name of a tool as people write it. */
export function title(name: string): string {
  const words = name.replace(/[_.-]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
