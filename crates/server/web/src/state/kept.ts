// Things that a browser keeps for the chat. A browser may forbid it, and then nothing is kept.

function storage(kind: 'local' | 'session'): Storage | undefined {
  try {
    return kind === 'local' ? localStorage : sessionStorage;
  } catch {
    return undefined;
  }
}

export class Kept {
  constructor(
    private readonly prefix: string,
    private readonly kind: 'local' | 'session' = 'local',
  ) {}

  get<T>(name: string): T | undefined {
    try {
      const text = storage(this.kind)?.getItem(this.prefix + name);
      return text ? (JSON.parse(text) as T) : undefined;
    } catch {
      return undefined;
    }
  }

  set(name: string, value: unknown): void {
    try {
      if (value === undefined || value === '') {
        storage(this.kind)?.removeItem(this.prefix + name);
      } else {
        storage(this.kind)?.setItem(this.prefix + name, JSON.stringify(value));
      }
    } catch {
      // It is full or forbidden.
    }
  }
}
