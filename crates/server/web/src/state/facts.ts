// Facts about the page around the chat, which the model reads with each turn.

/** The facts as they are now; `undefined` if there are none. A function is asked, and a fact that cannot be told is none. */
export function factsOf(context: ReadonlyMap<string, unknown>): Record<string, unknown> | undefined {
  const facts: Record<string, unknown> = {};
  for (const [key, value] of context) {
    try {
      facts[key] = typeof value === 'function' ? (value as () => unknown)() : value;
    } catch {
      // The page has it for another time.
    }
  }
  return context.size > 0 ? facts : undefined;
}
