// The fields of a form that a tool asks for, as the schema of the answer says, and the answer that they hold. Nothing is
// answered that nobody said: what is left empty is left out.
import { html, nothing, type TemplateResult } from 'lit';
import { numeral, stringify } from '../api/json.ts';
import { list, number, object, text } from '../api/read.ts';
import { title } from './title.ts';

type Schema = Record<string, unknown>;

interface Member {
  /** Empty for an answer that is no object. */
  name: string;
  schema: Schema;
  isRequired: boolean;
}

interface Choice {
  value: unknown;
  label: string;
}

/** The values from which one is chosen; none where a schema takes others, too. */
export function choices(schema: Schema): Choice[] {
  const names = list(schema.enumNames);
  const plain = list(schema.enum).map((value, at) => ({ value, label: text(names[at]) || String(value) }));
  const each = list(schema.oneOf ?? schema.anyOf).map(object);
  const titled = each.map((one) => ({ value: one.const, label: text(one.title) || String(one.const) }));
  return plain.length > 0 || !each.every((one) => 'const' in one) ? plain : titled;
}

function members(schema: Schema): Member[] {
  const required = list(schema.required);
  return schema.type === 'object'
    ? Object.entries(object(schema.properties)).map(([name, each]) => ({ name, schema: object(each), isRequired: required.includes(name) }))
    : [{ name: '', schema, isRequired: true }];
}

/** The choices of which several may be taken. */
const several = ({ type, items }: Schema): Choice[] => (type === 'array' ? choices(object(items)) : []);

const isNumber = ({ type }: Schema): boolean => type === 'number' || type === 'integer';

/** The value that stands in a field before somebody says another one: `null` is none. */
const defaultOf = (schema: Schema): unknown => schema.default ?? undefined;

/** The fields of a form, one for each member. `yours` is the label of one without a name. */
export const fields = (schema: Schema, yours: string): TemplateResult[] =>
  members(schema).map(({ name, schema, isRequired }) => {
    const { type } = schema;
    const known = defaultOf(schema);
    const label = text(schema.title) || text(schema.description) || (name ? title(name) : yours);
    const isKnown = (value: unknown) => (Array.isArray(known) ? known : [known]).some((each) => stringify(each) === stringify(value));
    const options = (all: Choice[]) => all.map(({ value, label }, at) => html`<option value=${at} ?selected=${isKnown(value)}>${label}</option>`);
    const [one, more] = [choices(schema), several(schema)];
    return html`<label class="field"><span>${label}</span>
      ${type === 'boolean'
        ? html`<input type="checkbox" name=${name} ?checked=${known === true}>`
        : more.length > 0
          ? html`<select multiple name=${name} size=${Math.min(more.length, 6)} ?required=${(number(schema.minItems) ?? 0) > 0}>${options(more)}</select>`
          : one.length > 0
            ? html`<select name=${name} ?required=${isRequired}>${isRequired && known !== undefined ? nothing : html`<option value=""></option>`}${options(one)}</select>`
            : html`<input name=${name} ?required=${isRequired} autocomplete="off" type=${isNumber(schema) ? 'number' : 'text'}
                step=${type === 'integer' ? '1' : 'any'} value=${known === undefined ? nothing : String(known)}>`}
    </label>`;
  });

/** The answer in the fields, which come in the order of the members. */
export function filled(schema: Schema, fields: Iterable<HTMLInputElement | HTMLSelectElement>): unknown {
  const all: Schema = {};
  const inputs = [...fields];
  for (const [at, { name, schema: each, isRequired }] of members(schema).entries()) {
    const field = inputs[at];
    const [one, more] = [choices(each), several(each)];
    const isWhole = isRequired || defaultOf(each) !== undefined;
    if (field && more.length > 0) {
      const taken = Array.from((field as HTMLSelectElement).selectedOptions, ({ value }) => more[Number(value)]?.value);
      (taken.length > 0 || isWhole) && (all[name] = taken);
    } else if (each.type === 'boolean') {
      const { checked } = field as HTMLInputElement;
      (checked || isWhole) && (all[name] = checked);
    } else if (field?.value) {
      all[name] = one.length > 0 ? one[Number(field.value)]?.value : isNumber(each) ? numeral(field.value) : field.value;
    }
  }
  return '' in all ? all[''] : all;
}
