// Arguments and results of tools.
import { html, nothing, type TemplateResult } from 'lit';
import { object } from '../api/read.ts';
import type { Doc } from '../state/model.ts';
import type { Speech } from '../words/words.ts';

/** The most characters of a text that are shown at first. */
const MOST = 600;

/** A value with the names of documents in place of the references to them. */
function readable(value: unknown, documents: readonly Doc[]): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => readable(each, documents));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if ('attache.document' in value) {
    const { documentId, metadata } = object(value);
    const known = documents.find((document) => document.id === documentId);
    return `📎 ${known?.fileName ?? (object(metadata).fileName as string | undefined) ?? 'document'}`;
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, readable(each, documents)]));
}

export function valueText(value: unknown, documents: readonly Doc[] = []): string {
  const shown = readable(value, documents);
  return typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2);
}

/** A value, clipped where it is long. */
export function value(shown: unknown, speech: Speech, documents: readonly Doc[] = []): TemplateResult | typeof nothing {
  const text = valueText(shown, documents) ?? '';
  if (text.length <= MOST) {
    return html`<pre class="value" tabindex="0">${text}</pre>`;
  }
  const all = (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement;
    const pre = button.previousElementSibling as HTMLElement;
    pre.textContent = text;
    pre.focus();
    button.hidden = true;
  };
  return html`<pre class="value" tabindex="0">${text.slice(0, MOST)}…</pre>
    <button type="button" class="link" @click=${all}>${speech.say('showAll')}</button>`;
}

/** Arguments as a table of two columns, where they are an object. */
export function table(args: unknown, speech: Speech): TemplateResult {
  const entries = Object.entries(object(args));
  return entries.length === 0
    ? html`<p class="muted small">${speech.say('noArguments')}</p>`
    : html`<table class="arguments">
        <tbody>
          ${entries.map(
            ([name, each]) => html`<tr><th scope="row">${name}</th><td>${typeof each === 'string' ? each : valueText(each)}</td></tr>`,
          )}
        </tbody>
      </table>`;
}

/** The name of a tool as people write it. */
export function title(name: string): string {
  const words = name.replace(/[_.-]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
