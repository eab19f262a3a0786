// Arguments of a call that waits for a decision, as a table of two columns, to be read or edited.
import { html, nothing, type TemplateResult } from 'lit';
import { LongNumber, parse, stringify } from '../api/json.ts';
import { object } from '../api/read.ts';
import type { Speech } from '../words/words.ts';
import { title } from './title.ts';
import { valueText } from './value.ts';

/** The edits that somebody has made, by the names of values: text, or the state of a box. */
export type Drafts = Map<string, string | boolean>;

const isText = (value: unknown): value is string => typeof value === 'string';
const written = (value: unknown): string => (isText(value) ? value : stringify(value, 2));

function rows(args: unknown, speech: Speech, cell: (name: string, value: unknown) => unknown): TemplateResult {
  const entries = Object.entries(object(args));
  return entries.length === 0
    ? html`<p class="muted small">${speech.say('noArguments')}</p>`
    : html`<table class="arguments">
        <tbody>${entries.map(([name, value]) => cell(name, value))}</tbody>
      </table>`;
}

export const table = (args: unknown, speech: Speech): TemplateResult =>
  rows(args, speech, (name, value) => html`<tr><th scope="row">${title(name)}</th><td>${valueText(value)}</td></tr>`);

/** The same with fields. A value that was edited is marked, with what it was. */
export function editor(args: unknown, drafts: Drafts, speech: Speech, changed: () => void): TemplateResult {
  return rows(args, speech, (name, value) => {
    const draft = drafts.get(name);
    const isEdited = draft !== undefined && draft !== (typeof value === 'boolean' ? value : written(value));
    const write = (event: Event) => {
      const field = event.target as HTMLInputElement;
      drafts.set(name, typeof value === 'boolean' ? field.checked : field.value);
      changed();
    };
    const label = title(name);
    return html`<tr class=${isEdited ? 'edited' : ''}>
      <th scope="row">${label}${isEdited ? html` <span class="badge">${speech.say('changed')}</span>` : nothing}</th>
      <td>${typeof value === 'boolean'
          ? html`<input type="checkbox" aria-label=${label} .checked=${(draft ?? value) as boolean} @change=${write}>`
          : typeof value === 'number' || value instanceof LongNumber
            ? html`<input type="number" step="any" aria-label=${label} .value=${String(draft ?? value)} @input=${write}>`
            : html`<textarea rows="1" aria-label=${label} class=${isText(value) ? '' : 'mono'} spellcheck=${isText(value)} .value=${String(draft ?? written(value))} @input=${write}></textarea>`}
        ${isEdited ? html`<p class="muted small">${speech.say('was', { text: String(valueText(value)) })}</p>` : nothing}</td>
    </tr>`;
  });
}

/** The arguments with what was written. Fails where that is no value. */
export function edited(args: unknown, drafts: Drafts): Record<string, unknown> {
  const made = { ...object(args) };
  for (const [name, draft] of drafts) {
    // A text stays a text; anything else is JSON, of which an empty field is none.
    made[name] = isText(made[name]) || !isText(draft) ? draft : parse(draft);
  }
  return made;
}
