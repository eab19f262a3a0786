// Documents in the conversation.
import { html, nothing, type TemplateResult } from 'lit';
import type { Chat } from '../state/chat.ts';
import type { Answer, Citation, Doc, Message } from '../state/model.ts';
import type { Word } from '../words/en.ts';
import { fileIcon, icon } from './icons.ts';
import { openDocument } from './part.ts';

export const nameOf = (document: Doc, chat: Chat): string => document.fileName ?? chat.speech.say('document');

/** The document of a citation: as the conversation has it, or as far as the citation tells. */
export function citedDocument(messages: readonly Message[], { source }: Citation): Doc {
  const all = messages.flatMap((message) =>
    message.role === 'user'
      ? message.documents
      : message.parts.flatMap((part) => (part.kind === 'call' ? part.documents : part.kind === 'document' ? [part.document] : [])),
  );
  const name = source.name ?? '';
  const guess = /\.pdf$/i.test(name) ? 'application/pdf' : /\.csv$/i.test(name) ? 'text/csv' : 'text/plain';
  return all.find((document) => document.id === source.id) ?? { id: source.id, fileName: source.name, mediaType: guess };
}

/** The width of the place in which documents open. */
export const paneWidth = (chat: Chat): number => chat.kept.get<number>('pane') ?? 480;

/** The words for what became of a document, where the model did not get it as it is. */
export const OUTCOMES: Record<string, Word> = {
  native: 'outcomeNative',
  synthetic: 'outcomeNative',
  text: 'outcomeText',
  reencoded: 'outcomeReencoded',
  rendered: 'outcomeRendered',
  converted: 'outcomeConverted',
  note: 'outcomeNote',
  withheld: 'outcomeWithheld',
  error: 'outcomeError',
};

/** Documents of which there is a small picture. */
const PICTURED = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/;

const UNTOLD = new Set(['native', 'synthetic', 'text']);

/** A card that opens the document. Where a model did not get it as it is, a badge says so and opens the routing report. */
export function card(document: Doc, chat: Chat, answer?: Answer): TemplateResult {
  const seen = answer?.sights.flatMap((sight) => sight.decisions).findLast((decision) => decision.documentId === document.id);
  const word = seen && !UNTOLD.has(seen.outcome) ? OUTCOMES[seen.outcome] : undefined;
  const open = (event: Event) => openDocument(event.currentTarget as EventTarget, { document });
  const report = (event: Event) => event.currentTarget?.dispatchEvent(new CustomEvent('open-sight', { detail: answer, bubbles: true }));
  return html`<span class="filed"><button type="button" class="file" part="document" @click=${open}>
    ${icon(fileIcon(document.mediaType))}
    <span class="file-name">${nameOf(document, chat)}</span>
    ${document.size === undefined ? nothing : html`<span class="muted small">${chat.speech.size(document.size)}</span>`}
    ${PICTURED.test(document.mediaType) ? html`<attache-thumb .chat=${chat} .document=${document} .language=${chat.speech.language}></attache-thumb>` : nothing}
  </button>${word ? html`<button type="button" class="badge ${seen?.outcome}" title=${chat.speech.say('sight')} @click=${report}>${chat.speech.say(word)}</button>` : nothing}</span>`;
}
