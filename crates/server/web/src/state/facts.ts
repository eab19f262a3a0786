// Facts about the page around the chat, which the model reads with each turn.

/** The time that a fact may take. */
const PATIENCE = 2000;

/**
 * The facts as they are now; `undefined` if there are none. A function is asked, and a fact that cannot be told, or not in
 * time, is none.
 */
export async function factsOf(context: ReadonlyMap<string, unknown>): Promise<Record<string, unknown> | undefined> {
  if (context.size === 0) {
    return undefined;
  }
  const facts: Record<string, unknown> = {};
  const late = new Promise((end) => setTimeout(end, PATIENCE));
  const tell = async ([key, value]: [string, unknown]) => {
    facts[key] = JSON.parse(JSON.stringify(await Promise.race([typeof value === 'function' ? (value as () => unknown)() : value, late])));
  };
  await Promise.allSettled([...context].map(tell));
  return facts;
}
