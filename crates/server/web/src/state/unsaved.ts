// Words with which messages could not be written anew, until the editors of these have them.
import type { Question } from './model.ts';

interface Unsaved {
  /** The words that the message had. */
  text: string;
  words: string;
}

export class UnsavedWords {
  private readonly all = new Map<string, Unsaved>();

  constructor(
    /** The key of a message: its session and its place there. */
    readonly keyOf: (question: Question) => string,
    private readonly changed: () => void,
  ) {}

  keep(key: string, unsaved: Unsaved): void {
    this.all.set(key, unsaved);
    this.changed();
  }

  of(question: Question): string | undefined {
    const unsaved = this.all.get(this.keyOf(question));
    return unsaved?.text === question.text ? unsaved.words : undefined;
  }

  /** An editor has them: the same words are news if they come once more. */
  taken(question: Question): void {
    this.all.delete(this.keyOf(question));
    this.changed();
  }
}
