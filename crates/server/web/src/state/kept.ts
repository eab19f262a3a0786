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
    private readonly kind: 'local' | 'session' = 'local',
    /** The one whose things they are, if they are not of all chats of a page. */
    private readonly owner: () => string = () => '',
  ) {}

  private nameOf(name: string): string {
    return `attache.${this.owner()}${name}`;
  }

  get<T>(name: string): T | undefined {
    try {
      const text = storage(this.kind)?.getItem(this.nameOf(name));
      return text ? (JSON.parse(text) as T) : undefined;
    } catch {
      return undefined;
    }
  }

  set(name: string, value: unknown): void {
    try {
      if (value === undefined || value === '') {
        storage(this.kind)?.removeItem(this.nameOf(name));
      } else {
        storage(this.kind)?.setItem(this.nameOf(name), JSON.stringify(value));
      }
    } catch {
      // It is full or forbidden.
    }
  }
}
